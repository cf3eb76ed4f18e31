//! Arrays in the braces of their text form.

use std::fmt::Write as _;

use super::{fixed, from_binary};

/// More elements than a tap prints; such an array stays opaque.
const MOST: usize = 100_000;

/// The text form of an array in binary, if its elements are of a known type.
pub(super) fn text(bytes: &[u8]) -> Option<String> {
    let mut reader = Reader(bytes);
    let dimensions = usize::try_from(reader.number()?).ok()?;
    let _has_nulls = reader.number()?;
    let oid = reader.number()?.cast_unsigned();
    if dimensions == 0 {
        return Some("{}".to_owned());
    }
    if dimensions > 6 {
        return None;
    }
    let mut lengths = Vec::with_capacity(dimensions);
    let mut lower_bounds = String::new();
    let mut usual = true;
    for _ in 0..dimensions {
        let (length, lower) = (reader.number()?, reader.number()?);
        let upper = lower.checked_add(length)?.checked_sub(1)?;
        usual &= lower == 1;
        let _ = write!(lower_bounds, "[{lower}:{upper}]");
        lengths.push(usize::try_from(length).ok()?);
    }
    let count = lengths
        .iter()
        .try_fold(1_usize, |count, length| count.checked_mul(*length))?;
    if !(1..=MOST).contains(&count) {
        return None;
    }
    let mut text = if usual {
        String::new()
    } else {
        format!("{lower_bounds}=")
    };
    reader.nested(&lengths, oid, &mut text)?;
    reader.0.is_empty().then_some(text)
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<i32> {
        let (number, rest) = self.0.split_at_checked(4)?;
        self.0 = rest;
        Some(i32::from_be_bytes(fixed(number)?))
    }

    fn nested(&mut self, lengths: &[usize], oid: u32, text: &mut String) -> Option<()> {
        let Some((length, inner)) = lengths.split_first() else {
            return self.element(oid, text);
        };
        text.push('{');
        for position in 0..*length {
            if position > 0 {
                text.push(',');
            }
            self.nested(inner, oid, text)?;
        }
        text.push('}');
        Some(())
    }

    fn element(&mut self, oid: u32, text: &mut String) -> Option<()> {
        let length = self.number()?;
        if length == -1 {
            text.push_str("NULL");
            return Some(());
        }
        let (element, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        push_quoted(&from_binary(oid, element)?, text);
        Some(())
    }
}

/// Quotes an element where the array's own syntax would be mistaken for it.
fn push_quoted(element: &str, text: &mut String) {
    let special = |sign: char| sign.is_ascii_whitespace() || "{},\"\\".contains(sign);
    if !element.is_empty() && !element.eq_ignore_ascii_case("NULL") && !element.contains(special) {
        text.push_str(element);
        return;
    }
    text.push('"');
    for sign in element.chars() {
        if matches!(sign, '"' | '\\') {
            text.push('\\');
        }
        text.push(sign);
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(dimensions: &[(i32, i32)], oid: i32, elements: &[Option<&[u8]>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let number = |number: i32| number.to_be_bytes();
        bytes.extend(number(i32::try_from(dimensions.len()).unwrap()));
        bytes.extend(number(0));
        bytes.extend(number(oid));
        for (length, lower) in dimensions {
            bytes.extend(number(*length));
            bytes.extend(number(*lower));
        }
        for element in elements {
            match element {
                None => bytes.extend(number(-1)),
                Some(element) => {
                    bytes.extend(number(i32::try_from(element.len()).unwrap()));
                    bytes.extend_from_slice(element);
                }
            }
        }
        bytes
    }

    #[test]
    fn elements_are_quoted_where_needed() {
        let bytes = wire(
            &[(4, 1)],
            25,
            &[Some(b"a"), None, Some(b"null"), Some(b"x \"y\"")],
        );
        assert_eq!(
            text(&bytes).as_deref(),
            Some("{a,NULL,\"null\",\"x \\\"y\\\"\"}")
        );
    }

    #[test]
    fn dimensions_and_lower_bounds_show() {
        let one = 1_i32.to_be_bytes();
        let bytes = wire(&[(2, 1), (1, 1)], 23, &[Some(&one), Some(&one)]);
        assert_eq!(text(&bytes).as_deref(), Some("{{1},{1}}"));
        let bytes = wire(&[(1, 0)], 23, &[Some(&one)]);
        assert_eq!(text(&bytes).as_deref(), Some("[0:0]={1}"));
        assert_eq!(text(&wire(&[], 23, &[])).as_deref(), Some("{}"));
    }

    #[test]
    fn an_element_of_an_unknown_type_leaves_the_array_opaque() {
        assert_eq!(text(&wire(&[(1, 1)], 16_500, &[Some(b"a")])), None);
    }
}
