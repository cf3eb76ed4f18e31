//! Command lines that are written as one text: split at blanks, with quotes, and
//! without a shell.

/// Why a text is no command line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandLineFault {
    /// No word in it.
    #[error("names no program")]
    Empty,
    /// A quote stays open.
    #[error("has a quote that is never closed")]
    OpenQuote,
    /// Something only a shell understands.
    #[error("has `{0}` in it, which only a shell understands")]
    Shell(String),
}

const SHELL_WORDS: &[&str] = &["&&", "||", "|", ";", "&", ">", ">>", "<", "2>", "2>&1"];

/// Splits a command line into words. A placeholder is never cut, even where its name
/// has a blank in it.
pub(crate) fn split_command_line(line: &str) -> Result<Vec<String>, CommandLineFault> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    let mut chars = line.chars();
    let mut finish = |word: &mut Option<String>, quoted: &mut bool| {
        let plain = !std::mem::take(quoted);
        match word.take() {
            Some(done) if plain && SHELL_WORDS.contains(&done.as_str()) => {
                return Err(CommandLineFault::Shell(done));
            }
            Some(done) => words.push(done),
            None => {}
        }
        Ok(())
    };
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => finish(&mut word, &mut quoted)?,
            '\'' | '"' => {
                quoted = true;
                let word = word.get_or_insert_default();
                loop {
                    match chars.next().ok_or(CommandLineFault::OpenQuote)? {
                        end if end == c => break,
                        '\\' if c == '"' => {
                            let escaped = chars.next().ok_or(CommandLineFault::OpenQuote)?;
                            if !matches!(escaped, '"' | '\\') {
                                word.push('\\');
                            }
                            word.push(escaped);
                        }
                        inside => word.push(inside),
                    }
                }
            }
            '\\' => {
                quoted = true;
                word.get_or_insert_default().extend(chars.next());
            }
            '$' if chars.as_str().starts_with('{') => {
                let word = word.get_or_insert_default();
                word.push('$');
                for inside in chars.by_ref() {
                    word.push(inside);
                    if inside == '}' {
                        break;
                    }
                }
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    finish(&mut word, &mut quoted)?;
    if words.first().is_none_or(String::is_empty) {
        Err(CommandLineFault::Empty)
    } else {
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_split_at_blanks_and_kept_together_by_quotes() {
        let words = split_command_line(r#"run  "two words" 'it''s "so"' a\ b "" x"y"z"#).unwrap();
        assert_eq!(words, ["run", "two words", r#"its "so""#, "a b", "", "xyz"]);
        assert_eq!(
            split_command_line(r#"a "b\"c\n""#).unwrap(),
            ["a", r#"b"c\n"#]
        );
    }

    #[test]
    fn a_placeholder_with_a_blank_stays_whole() {
        let words = split_command_line("run ${setting.attempt limit} now").unwrap();
        assert_eq!(words, ["run", "${setting.attempt limit}", "now"]);
    }

    #[test]
    fn what_needs_a_shell_or_is_unfinished_is_refused() {
        assert_eq!(split_command_line("  "), Err(CommandLineFault::Empty));
        assert_eq!(split_command_line("'' x"), Err(CommandLineFault::Empty));
        assert_eq!(split_command_line("a 'b"), Err(CommandLineFault::OpenQuote));
        assert_eq!(
            split_command_line("a && b"),
            Err(CommandLineFault::Shell("&&".to_owned()))
        );
        assert!(split_command_line("a '&&' b").is_ok());
    }

    proptest! {
        #[test]
        fn quoted_words_come_back_as_they_were(words in prop::collection::vec("\\PC{1,8}", 1..5)) {
            let line: Vec<_> = words
                .iter()
                .map(|word| format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")))
                .collect();
            prop_assert_eq!(split_command_line(&line.join(" ")).unwrap(), words);
        }
    }
}
