//! The text of a PDF. The parser follows a document's own structure without a bound on
//! its depth: a form that draws itself overflows the stack and takes the process along.

use super::ExtractError;

pub(super) fn text(content: &[u8]) -> Result<String, ExtractError> {
    pdf_extract::extract_text_from_mem(content)
        .map_err(|error| ExtractError::Malformed("PDF", error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(name: &str) -> Vec<u8> {
        std::fs::read(format!(
            "{}/../features/content/{name}",
            env!("CARGO_MANIFEST_DIR")
        ))
        .unwrap()
    }

    #[test]
    fn a_harmless_document_yields_its_text() {
        let text = text(&fixture("harmless.pdf")).unwrap();
        assert!(
            text.contains("Nothing in this document harms a parser"),
            "{text}"
        );
    }

    #[test]
    fn a_malformed_document_fails_each_time_and_kills_nobody() {
        for _ in 0..3 {
            assert!(matches!(
                text(&fixture("malformed.pdf")),
                Err(ExtractError::Malformed(..))
            ));
        }
    }

    #[test]
    #[ignore = "dies; run by `the_poison_kills_the_whole_process`"]
    fn dies_of_the_poison() {
        let parser = std::thread::spawn(|| text(&fixture("poison.pdf")));
        let _ = parser.join();
    }

    #[test]
    fn the_poison_kills_the_whole_process() {
        use std::os::unix::process::ExitStatusExt;

        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "extract::pdf::tests::dies_of_the_poison",
                "--ignored",
            ])
            .output()
            .unwrap();
        assert!(child.status.signal().is_some(), "{:?}", child.status);
    }
}
