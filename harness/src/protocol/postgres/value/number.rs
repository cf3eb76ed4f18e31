//! Numbers that are not integers.

use std::fmt::Write as _;

/// `float4` as the server prints it.
pub(super) fn float4(value: f32) -> String {
    shortest(
        value.is_nan(),
        value.is_infinite(),
        value < 0.0,
        &format!("{value:e}"),
        6,
    )
}

/// `float8` as the server prints it.
pub(super) fn float8(value: f64) -> String {
    shortest(
        value.is_nan(),
        value.is_infinite(),
        value < 0.0,
        &format!("{value:e}"),
        15,
    )
}

/// The shortest digits that read back as the same value, with an exponent where the
/// server would write one: below -4 and from `largest` on.
fn shortest(nan: bool, infinite: bool, negative: bool, scientific: &str, largest: i32) -> String {
    if nan {
        return "NaN".to_owned();
    }
    if infinite {
        return if negative { "-Infinity" } else { "Infinity" }.to_owned();
    }
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific.to_owned();
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= largest {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs());
    }
    let (sign, mantissa) = mantissa
        .strip_prefix('-')
        .map_or(("", mantissa), |rest| ("-", rest));
    let digits = mantissa.replace('.', "");
    let point = usize::try_from(exponent + 1).unwrap_or(0);
    if exponent < 0 {
        let zeros = "0".repeat(usize::try_from(-exponent - 1).unwrap_or(0));
        format!("{sign}0.{zeros}{digits}")
    } else if digits.len() <= point {
        format!("{sign}{digits}{}", "0".repeat(point - digits.len()))
    } else {
        format!("{sign}{}.{}", &digits[..point], &digits[point..])
    }
}

/// `numeric`: groups of four decimal digits, the first of weight 10000^`weight`.
pub(super) fn numeric(bytes: &[u8]) -> Option<String> {
    let words: Vec<u16> = bytes
        .chunks_exact(2)
        .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
        .collect();
    let (&[count, weight, sign, scale], groups) = words.split_first_chunk::<4>()?;
    if groups.len() != usize::from(count) || !bytes.len().is_multiple_of(2) {
        return None;
    }
    let weight = i32::from(weight.cast_signed());
    let mut text = match sign {
        0 => String::new(),
        0x4000 => "-".to_owned(),
        0xc000 => return Some("NaN".to_owned()),
        0xd000 => return Some("Infinity".to_owned()),
        0xf000 => return Some("-Infinity".to_owned()),
        _ => return None,
    };
    let group = |power: i32| {
        usize::try_from(weight - power)
            .ok()
            .and_then(|at| groups.get(at))
            .copied()
            .unwrap_or(0)
    };
    if weight < 0 {
        text.push('0');
    } else {
        text.push_str(&group(weight).to_string());
        for power in (0..weight).rev() {
            let _ = write!(text, "{:04}", group(power));
        }
    }
    let scale = usize::from(scale);
    if scale > 0 {
        text.push('.');
        let end = text.len() + scale;
        for power in 1..=i32::try_from(scale.div_ceil(4)).ok()? {
            let _ = write!(text, "{:04}", group(-power));
        }
        text.truncate(end);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_have_an_exponent_only_where_the_server_writes_one() {
        for (value, printed) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (0.1, "0.1"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (123_456_789.0, "123456789"),
            (100_000_000_000_000.0, "100000000000000"),
            (1e15, "1e+15"),
            (1.25e300, "1.25e+300"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(float8(value), printed);
        }
        assert_eq!(float4(0.1), "0.1");
        assert_eq!(float4(1e6), "1e+06");
        assert_eq!(float8(f64::NAN), "NaN");
    }

    #[test]
    fn numerics_keep_their_scale() {
        let wire = |words: &[u16]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_be_bytes()).collect()
        };
        for (words, printed) in [
            (&[0, 0, 0, 0][..], "0"),
            (&[0, 0, 0, 2], "0.00"),
            (&[2, 0, 0, 2, 12, 3400], "12.34"),
            (&[2, 1, 0x4000, 0, 1, 5], "-10005"),
            (&[1, 1, 0, 0, 3], "30000"),
            (&[1, 0xffff, 0, 3, 50], "0.005"),
            (&[1, 0xfffe, 0, 6, 1200], "0.000012"),
            (&[0, 0, 0xc000, 0], "NaN"),
        ] {
            assert_eq!(numeric(&wire(words)).as_deref(), Some(printed));
        }
        assert_eq!(numeric(&wire(&[2, 0, 0, 0, 1])), None);
    }
}
