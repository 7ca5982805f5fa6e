//! Which of the inputs that the user named a file came from.

/// The number of the input: of those that a path begins with, the longest.
pub fn input_of(path: &str, inputs: &[String]) -> Option<usize> {
    let is_from = |input: &String| {
        let input = input.trim_end_matches('/');
        path.strip_prefix(input).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '!']))
    };
    let from = inputs.iter().enumerate().filter(|(_, input)| is_from(input));
    from.max_by_key(|(number, input)| (input.trim_end_matches('/').len(), usize::MAX - number))
        .map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_came_from_the_input_that_its_path_goes_on_from() {
        let inputs = ["lib", "lib/a.whl", "other/", "lib/a.whl"].map(str::to_owned);
        let cases = [
            ("lib/x.so", Some(0)),
            ("lib/a.whl!x.so", Some(1)),
            ("lib/a.whl", Some(1)),
            ("library/x.so", None),
            ("other/x.so", Some(2)),
        ];
        for (path, expected) in cases {
            assert_eq!(input_of(path, &inputs), expected, "{path}");
        }
    }
}
