//! Names of kernels in little space. Namespaces and template arguments are left out first, and the name of the function
//! never is.

use super::family::{ANONYMOUS, without_versions};
use crate::base::brackets::Brackets;
use crate::base::bytes::offset_of_rest;

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
        let Starts { qualified, function, arguments, parameters } = Starts::of(name);
        let function_name = before(function, arguments.map_or(parameters, |(open, _)| open));
        if function_name.is_empty() {
            return Parts { scope: "", function: name, arguments: None };
        }
        let text = |(open, close)| before(open, close).get(1..).unwrap_or_default().trim_end();
        Parts { scope: before(qualified, function), function: function_name, arguments: arguments.map(text) }
    }
}

/// The rests of a name that begin with its parts.
struct Starts<'a> {
    qualified: &'a str,
    function: &'a str,
    /// From the opening and from the closing bracket on.
    arguments: Option<(&'a str, &'a str)>,
    parameters: &'a str,
}

impl Starts<'_> {
    fn of(name: &str) -> Starts<'_> {
        let mut brackets = Brackets::default();
        let mut starts = Starts { qualified: name, function: name, arguments: None, parameters: name };
        while let Some(character) = starts.parameters.chars().next() {
            let here = starts.parameters;
            let mut after = here.get(character.len_utf8()..).unwrap_or_default();
            match (character, brackets.is_open()) {
                ('(', false) => match here.strip_prefix(ANONYMOUS) {
                    Some(behind) => after = behind,
                    None => break,
                },
                ('<', is_nested) => {
                    if !is_nested {
                        starts.arguments = Some((here, here));
                    }
                    brackets.open();
                }
                ('>', _) => {
                    brackets.close();
                    let close = |(open, close)| (open, if brackets.is_open() { close } else { here });
                    starts.arguments = starts.arguments.map(close);
                }
                // The text before a space is the return type.
                (' ', false) => starts = Starts { qualified: after, function: after, arguments: None, ..starts },
                (':', false) if after.starts_with(':') => {
                    starts = Starts { function: after.get(1..).unwrap_or_default(), arguments: None, ..starts };
                }
                _ => {}
            }
            starts.parameters = after;
        }
        starts.arguments = starts.arguments.filter(|(open, close)| open.len() > close.len());
        starts
    }
}

/// Returns a text without the rest that ends it.
fn before<'a>(text: &'a str, rest: &str) -> &'a str {
    text.get(..offset_of_rest(text, rest)).unwrap_or_default()
}

/// Leaves out the template arguments of template arguments.
fn without_nested(arguments: &str) -> String {
    let mut text = String::new();
    let mut brackets = Brackets::default();
    for character in arguments.chars() {
        match character {
            '<' => {
                if !brackets.is_open() {
                    text += &format!("<{ELLIPSIS}>");
                }
                brackets.open();
            }
            '>' => brackets.close(),
            _ if !brackets.is_open() => text.push(character),
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
