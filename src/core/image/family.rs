//! Families of kernels: the instances of one template, and the overloads of one function.

use std::collections::BTreeSet;

use crate::base::brackets::Brackets;

/// Name of the namespace without a name, as demanglers write it.
pub(super) const ANONYMOUS: &str = "(anonymous namespace)";

/// Beginnings of the namespaces that contain the version of a library: `cub::CUB_200700_530_600_NS`, since CCCL 3.2
/// `cub::_V_300200_SM_750_800`, and AMD's `rocprim::ROCPRIM_300400_NS`. Source: CCCL, `cub/util_namespace.cuh` and
/// `thrust/detail/config/namespace.h`; rocPRIM, `rocprim/config.hpp`; hipCUB, `hipcub/backend/rocprim/util_*.hpp`;
/// torchvision 0.29.2.
const VERSIONED: [&str; 5] = ["CUB_", "THRUST_", "_V_", "ROCPRIM_", "HIPCUB_"];

/// Namespaces of an ABI without a number behind `__`. Source: libstdc++, `std::__cxx11`; Android's libc++,
/// `std::__ndk1`.
const ABIS: [&str; 2] = ["__cxx11", "__ndk1"];

/// Leaves out the namespaces that contain the versions of CUB, Thrust, rocPRIM and the C++ libraries (`std::__1`).
/// Kernels of two versions have the same name without them.
pub fn without_versions(name: &str) -> String {
    split_versions(name).0
}

/// Returns the namespaces that contain versions, with the namespace around each: `cub::CUB_200700_530_600_NS`.
pub fn versions(name: &str) -> BTreeSet<String> {
    split_versions(name).1
}

/// Returns the name without the namespaces that contain versions, and these namespaces.
fn split_versions(name: &str) -> (String, BTreeSet<String>) {
    let mut versions = BTreeSet::new();
    if !VERSIONED.iter().any(|prefix| name.contains(prefix)) && !name.contains("::_") {
        return (name.to_owned(), versions);
    }
    let mut text = String::with_capacity(name.len());
    let mut parts = name.split("::").peekable();
    let mut around = "";
    while let Some(part) = parts.next() {
        // The first and the last part are not versions: a scope is around each.
        if parts.peek().is_some() && !text.is_empty() && is_version(part) {
            let is_name = |it: char| it.is_alphanumeric() || it == '_';
            let start = around.char_indices().rev().take_while(|(_, it)| is_name(*it)).last();
            let around = start.and_then(|(start, _)| around.get(start..)).unwrap_or_default();
            versions.insert(format!("{around}::{part}"));
            continue;
        }
        around = part;
        text += part;
        if parts.peek().is_some() {
            text += "::";
        }
    }
    (text, versions)
}

fn is_version(part: &str) -> bool {
    if ABIS.contains(&part) {
        return true;
    }
    let number = VERSIONED.iter().find_map(|prefix| part.strip_prefix(prefix)).or(part.strip_prefix("__"));
    let is_end =
        |rest: &str| rest.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    number.is_some_and(|number| number.starts_with(|it: char| it.is_ascii_digit()) && is_end(number))
}

/// Name of a function without return type, template arguments and parameters: `ns::Class::method` for `void
/// ns::Class<int>::method<float>(int)`, and without versions of libraries. A name that is not C++ is returned unchanged.
pub fn family(name: &str) -> String {
    let folded = without_versions(name);
    let mut family = String::new();
    let mut arguments = Brackets::default();
    let mut rest = folded.as_str();
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
            (
                "void cub::CUB_200700_530_600_700_NS::detail::reduce::Kernel<cub::CUB_200700_530_600_700_NS::Sum>(int)",
                "cub::detail::reduce::Kernel",
            ),
            (
                "void thrust::THRUST_200302_500_NS::cuda_cub::core::_kernel_agent<int>(int)",
                "thrust::cuda_cub::core::_kernel_agent",
            ),
            ("void cub::_V_300200_SM_750_800_1000::detail::EmptyKernel<void>()", "cub::detail::EmptyKernel"),
            ("void cuda::std::__4::f<int>(int)", "cuda::std::f"),
            ("void k<std::__cxx11::string>(std::__1::vector<int>)", "k"),
            (
                "void rocprim::ROCPRIM_400200_NS::detail::trampoline_kernel<rocprim::ROCPRIM_400200_NS::default_config>()",
                "rocprim::detail::trampoline_kernel",
            ),
            ("void ns::__impl::f(int)", "ns::__impl::f"),
            ("CUB_200700::f", "CUB_200700::f"),
        ];
        for (name, expected) in cases {
            assert_eq!(family(name), expected, "{name}");
        }
    }

    #[test]
    fn versions_have_the_namespace_around_them() {
        let cases = [
            (
                "void cub::CUB_200700_530_NS::Reduce<(cub::CUB_200700_530_NS::Kind)3, std::__1::less<int> >(int)",
                "void cub::Reduce<(cub::Kind)3, std::less<int> >(int)",
                "cub::CUB_200700_530_NS std::__1",
            ),
            ("void at::cuda::cub::_V_300200_SM_750::f()", "void at::cuda::cub::f()", "cub::_V_300200_SM_750"),
            ("saxpy(int)", "saxpy(int)", ""),
        ];
        for (name, without, expected) in cases {
            assert_eq!(without_versions(name), without);
            assert_eq!(versions(name).into_iter().collect::<Vec<_>>().join(" "), expected, "{name}");
        }
    }
}
