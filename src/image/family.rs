//! Families of kernels: the instances of one template, and the overloads of one function.

use crate::base::brackets::Brackets;

/// Name of a function without return type, template arguments and parameters: `ns::Class::method` for `void
/// ns::Class<int>::method<float>(int)`. A name that is not C++ is returned unchanged.
pub fn family(name: &str) -> String {
    const ANONYMOUS: &str = "(anonymous namespace)";
    let mut family = String::new();
    let mut arguments = Brackets::default();
    let mut rest = name;
    while let Some(character) = rest.chars().next() {
        if !arguments.is_open()
            && let Some(behind) = rest.strip_prefix(ANONYMOUS)
        {
            family += ANONYMOUS;
            rest = behind;
            continue;
        }
        match character {
            // Operators are functions, but never kernels.
            '<' => arguments.open(),
            '>' => arguments.close(),
            '(' if !arguments.is_open() => break,
            // The text before this space is the return type.
            ' ' if !arguments.is_open() => family.clear(),
            _ if !arguments.is_open() => family.push(character),
            _ => {}
        }
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
    }
    if family.is_empty() { name.to_owned() } else { family }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_and_overloads_are_of_one_family() {
        let cases = [
            ("saxpy", "saxpy"),
            ("saxpy(int, float*)", "saxpy"),
            ("void ns::Class<int, ns::Other<(Kind)3> >::method<float>(int, void (*)(int))", "ns::Class::method"),
            (
                "void (anonymous namespace)::elementwise<8, (anonymous namespace)::Op>(int)",
                "(anonymous namespace)::elementwise",
            ),
            ("void at::native::f<at::native::g(at::Tensor&)::{lambda(int)#1}>(int)", "at::native::f"),
            ("auto std::pair<int, int> ns::make<int>(int)", "ns::make"),
            ("__omp_offloading_10_2b_main_l3", "__omp_offloading_10_2b_main_l3"),
            ("_Z3fooi", "_Z3fooi"),
            ("", ""),
            ("<<<", "<<<"),
            ("é<ü>(ä)", "é"),
        ];
        for (name, expected) in cases {
            assert_eq!(family(name), expected, "{name}");
        }
    }
}
