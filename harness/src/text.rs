//! Reading what people write: a file that is no UTF-8 is told with the line.

use std::io;
use std::path::Path;

/// The text of a file.
///
/// # Errors
/// If it cannot be read, or is no UTF-8: then the line is told.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    let bytes = std::fs::read(path)?;
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let wide = [&[0xff, 0xfe][..], &[0xfe, 0xff]];
        let what = if wide.iter().any(|mark| error.as_bytes().starts_with(mark)) {
            "it is UTF-16".to_owned()
        } else {
            let line = good.split(|byte| *byte == b'\n').count();
            format!("line {line} holds bytes that are no UTF-8")
        };
        io::Error::new(io::ErrorKind::InvalidData, what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_utf8_is_told_with_its_line() {
        let directory = tempfile::tempdir().unwrap();
        let told = |bytes: &[u8]| {
            let path = directory.path().join("it");
            std::fs::write(&path, bytes).unwrap();
            read(&path).map_err(|error| error.to_string())
        };
        assert_eq!(told("a\nü\n".as_bytes()), Ok("a\nü\n".to_owned()));
        let second = told(b"a\n\xfcber\n").unwrap_err();
        assert_eq!(second, "line 2 holds bytes that are no UTF-8");
        assert_eq!(told(b"\xff\xfea\0").unwrap_err(), "it is UTF-16");
    }
}
