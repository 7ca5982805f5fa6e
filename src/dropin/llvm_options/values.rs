//! Values of options, and the errors about invalid ones.

use super::arguments::{os_string, text};
use super::{Given, ValueType};

/// Parses a value of the given type. An error is the text after "for the --x option: ".
pub fn read(value: ValueType, given: &[u8]) -> Result<Given, String> {
    match value {
        ValueType::Flag | ValueType::Immediately(_) => flag(given).map(Given::Flag),
        ValueType::Text(_) => Ok(Given::Text(os_string(given.to_vec()))),
        ValueType::Unsigned(_) => {
            let number = magnitude(given).and_then(|number| u32::try_from(number).ok());
            number
                .map(|number| Given::Number(number.into()))
                .ok_or_else(|| format!("'{}' value invalid for uint argument!", text(given)))
        }
        ValueType::Integer(_) => signed(given)
            .map(|number| Given::Number(number.into()))
            .ok_or_else(|| format!("'{}' value invalid for integer argument!", text(given))),
        ValueType::Choice(names) => {
            let known = names.iter().any(|(name, _)| name.as_bytes() == given);
            if known {
                Ok(Given::Text(os_string(given.to_vec())))
            } else {
                Err(format!("Cannot find option named '{}'!", text(given)))
            }
        }
    }
}

fn flag(given: &[u8]) -> Result<bool, String> {
    match given {
        b"" | b"true" | b"TRUE" | b"True" | b"1" => Ok(true),
        b"false" | b"FALSE" | b"False" | b"0" => Ok(false),
        _ => Err(format!("'{}' is invalid value for boolean argument! Try 0 or 1", text(given))),
    }
}

fn signed(given: &[u8]) -> Option<i32> {
    let number = match given.strip_prefix(b"-") {
        Some(digits) => -i128::from(magnitude(digits)?),
        None => magnitude(given)?.into(),
    };
    i32::try_from(number).ok()
}

/// Parses digits in the base of their prefix: the prefixes of C, `0b` and `0o`.
fn magnitude(given: &[u8]) -> Option<u64> {
    let (digits, base) = match given {
        [b'0', b'x' | b'X', digits @ ..] => (digits, 16),
        [b'0', b'b' | b'B', digits @ ..] => (digits, 2),
        [b'0', b'o', digits @ ..] => (digits, 8),
        [b'0', digits @ ..] if digits.first().is_some_and(u8::is_ascii_digit) => (digits, 8),
        digits => (digits, 10),
    };
    // The standard library also accepts a sign.
    if !digits.iter().all(u8::is_ascii_alphanumeric) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, base).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_numbers_in_every_base_of_c() {
        for (given, number) in [("0", 0), ("42", 42), ("0x1F", 31), ("0b11", 3), ("0o17", 15), ("017", 15), ("-8", -8)]
        {
            assert_eq!(read(ValueType::Integer(""), given.as_bytes()), Ok(Given::Number(number)), "{given}");
        }
        assert_eq!(read(ValueType::Integer(""), b"-2147483648"), Ok(Given::Number(-2_147_483_648)));
        assert_eq!(read(ValueType::Unsigned(""), b"4294967295"), Ok(Given::Number(4_294_967_295)));
    }

    #[test]
    fn quotes_invalid_numbers() {
        for given in ["", "x", "08", "+1", "0x", "1 ", "--1", "2147483648", "-2147483649", "99999999999999999999"] {
            let message = format!("'{given}' value invalid for integer argument!");
            assert_eq!(read(ValueType::Integer(""), given.as_bytes()), Err(message));
        }
        for given in ["-1", "4294967296"] {
            let message = format!("'{given}' value invalid for uint argument!");
            assert_eq!(read(ValueType::Unsigned(""), given.as_bytes()), Err(message));
        }
    }

    #[test]
    fn accepts_the_spellings_of_a_flag_and_no_others() {
        for (given, on) in [("", true), ("True", true), ("1", true), ("FALSE", false), ("0", false)] {
            assert_eq!(read(ValueType::Flag, given.as_bytes()), Ok(Given::Flag(on)));
        }
        let message = "'tRUE' is invalid value for boolean argument! Try 0 or 1".to_owned();
        assert_eq!(read(ValueType::Flag, b"tRUE"), Err(message));
    }
}
