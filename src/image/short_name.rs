//! Names of kernels in little space. Namespaces and template arguments are left out first, and the name of the function
//! never is.

use super::family::{ANONYMOUS, without_versions};

/// Part that is left out.
const ELLIPSIS: &str = "…";

/// A name of C++ in its parts.
#[derive(Debug, PartialEq, Eq)]
struct Parts<'a> {
    /// Namespaces and classes, with the colons behind them.
    scope: &'a str,
    /// Name of the function.
    function: &'a str,
    /// Template arguments without their brackets, if there are any.
    arguments: Option<&'a str>,
}

/// Returns a name of at most `width` characters, if the name of the function has no more. Return type and parameters
/// are left out if the name is longer.
pub fn short_name(name: &str, width: usize) -> String {
    let fits = |text: &str| text.chars().count() <= width;
    let name = without_versions(name);
    if fits(&name) {
        return name;
    }
    let Parts { scope, function, arguments } = Parts::of(&name);
    let with = |scope: &str, arguments: &str| match arguments {
        "" => format!("{scope}{function}"),
        _ => format!("{scope}{function}<{arguments}>"),
    };
    let arguments = arguments.unwrap_or_default();
    let short_scope = if scope.is_empty() { String::new() } else { format!("{ELLIPSIS}::") };
    let unnested = without_nested(arguments);
    let unqualified = without_scopes(&unnested);
    for text in [
        with(scope, arguments),
        with(scope, &unnested),
        with(scope, &unqualified),
        with(&short_scope, &unqualified),
        with("", &unqualified),
    ] {
        if fits(&text) {
            return text;
        }
    }
    let function = &cut(function);
    if arguments.is_empty() {
        return function.to_owned();
    }
    // The first arguments, as many as fit.
    let around = format!("{function}<{ELLIPSIS}>").chars().count();
    match width.checked_sub(around) {
        Some(left) => {
            let first: String = unqualified.chars().take(left).collect();
            format!("{function}<{first}{ELLIPSIS}>")
        }
        None => function.to_owned(),
    }
}

/// Longest name of a function that compilers and people write. Only the names of hostile files are longer.
const MAX_FUNCTION: usize = 160;

fn cut(function: &str) -> String {
    match function.char_indices().nth(MAX_FUNCTION) {
        Some((end, _)) => format!("{}{ELLIPSIS}", function.get(..end).unwrap_or_default()),
        None => function.to_owned(),
    }
}

impl Parts<'_> {
    /// Divides a name that a demangler has written; any other text is a function without a scope.
    fn of(name: &str) -> Parts<'_> {
        let mut depth = 0_usize;
        let (mut start, mut function, mut end) = (0, 0, name.len());
        let mut arguments = None;
        let mut skipped = 0;
        for (at, character) in name.char_indices() {
            let rest = name.get(at..).unwrap_or_default();
            if at < skipped {
                continue;
            }
            match character {
                '(' if depth == 0 && rest.starts_with(ANONYMOUS) => skipped = at.saturating_add(ANONYMOUS.len()),
                '(' if depth == 0 => {
                    end = at;
                    break;
                }
                '<' => {
                    if depth == 0 {
                        arguments = Some((at, at));
                    }
                    depth = depth.saturating_add(1);
                }
                '>' => {
                    depth = depth.saturating_sub(1);
                    arguments = arguments.map(|(open, close)| (open, if depth == 0 { at } else { close }));
                }
                // The text before a space is the return type.
                ' ' if depth == 0 => {
                    start = at.saturating_add(1);
                    (function, arguments) = (start, None);
                }
                ':' if depth == 0 && rest.starts_with("::") => {
                    function = at.saturating_add(2);
                    arguments = None;
                }
                _ => {}
            }
        }
        let (open, arguments) = match arguments {
            Some((open, close)) if close > open => (open, name.get(open.saturating_add(1)..close).map(str::trim_end)),
            _ => (end, None),
        };
        let part = |from, to| name.get(from..to).unwrap_or_default();
        let function_name = part(function, open);
        if function_name.is_empty() {
            return Parts { scope: "", function: name, arguments: None };
        }
        Parts { scope: part(start, function), function: function_name, arguments }
    }
}

/// Leaves out the template arguments of template arguments.
fn without_nested(arguments: &str) -> String {
    let (mut text, mut depth) = (String::new(), 0_usize);
    for character in arguments.chars() {
        match character {
            '<' => {
                if depth == 0 {
                    text += &format!("<{ELLIPSIS}>");
                }
                depth = depth.saturating_add(1);
            }
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => text.push(character),
            _ => {}
        }
    }
    text
}

/// Leaves out the namespaces of template arguments.
fn without_scopes(arguments: &str) -> String {
    let mut text = String::new();
    for word in arguments.split_inclusive([' ', ',', '(', ')', '*', '&']) {
        text += word.rsplit_once("::").map_or(word, |(_, last)| last);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILL: &str = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<bool>, \
                        std::array<char*, 1ul> >(int, at::native::FillFunctor<bool>, std::array<char*, 1ul>)";

    #[test]
    fn a_name_loses_namespaces_and_arguments_before_its_own() {
        let rows = [
            (300, FILL),
            (
                110,
                "at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<bool>, std::array<char*, 1ul>>",
            ),
            (90, "at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<…>, std::array<…>>"),
            (75, "at::native::vectorized_elementwise_kernel<4, FillFunctor<…>, array<…>>"),
            (65, "…::vectorized_elementwise_kernel<4, FillFunctor<…>, array<…>>"),
            (59, "vectorized_elementwise_kernel<4, FillFunctor<…>, array<…>>"),
            (40, "vectorized_elementwise_kernel<4, FillF…>"),
            (32, "vectorized_elementwise_kernel<…>"),
            (10, "vectorized_elementwise_kernel"),
        ];
        for (width, expected) in rows {
            assert_eq!(short_name(FILL, width), expected, "{width}");
        }
    }

    #[test]
    fn the_name_of_the_function_is_found_in_any_name() {
        let rows = [
            ("saxpy_with_a_name_that_is_long", "saxpy_with_a_name_that_is_long"),
            ("void (anonymous namespace)::elementwise<8, (anonymous namespace)::Op>(int)", "elementwise<8…>"),
            ("void ns::Class<int, ns::Other>::method_name(int, void (*)(int))", "…::method_name"),
            ("void f<(lambda at x.cu:1)>(a_long_list, of_parameters)", "f<(lambda at …>"),
            ("__omp_offloading_10_2b_main_l3", "__omp_offloading_10_2b_main_l3"),
            ("<<<<<<<<<<<<<<<<<<<<", "<<<<<<<<<<<<<<<<<<<<"),
            ("::::::::::::::::::::", "::::::::::::::::::::"),
        ];
        for (name, expected) in rows {
            assert_eq!(short_name(name, 15), expected, "{name}");
        }
        for end in 0..FILL.len() {
            assert!(!short_name(&FILL[..end], 12).is_empty() || end == 0);
        }
    }

    #[test]
    fn only_names_that_nobody_writes_are_cut() {
        let name = "k".repeat(MAX_FUNCTION);
        assert_eq!(short_name(&name, 10), name);
        assert_eq!(short_name(&"k".repeat(1 << 20), 10), name + ELLIPSIS);
    }

    #[test]
    fn versions_of_libraries_are_left_out() {
        let name = "void cub::CUB_200700_530_600_NS::DeviceReduceKernel<int>(int)";
        assert_eq!(short_name(name, 80), "void cub::DeviceReduceKernel<int>(int)");
    }
}
