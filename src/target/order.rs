//! The order in which people expect names of processors.

/// What a name sorts by: numbers as numbers, so that `sm_100` comes behind `sm_90`.
pub fn order(name: &str) -> (String, u64, String) {
    let digits = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    let (front, rest) = name.split_at(digits);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    (front.to_owned(), rest[..end].parse().unwrap_or(0), rest[end..].to_owned())
}
