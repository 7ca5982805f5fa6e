//! Paths of the machine that an image was built on. They make builds differ from machine to machine and tell strangers
//! what is nobody's business; compilers leave them in debug information, in messages of assertions and in option strings.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::bytes::View;

/// An absolute path of two parts or more, in Unix's form or Windows', between what strings and options end with. Machine
/// code does not look like that: it would need eight printable bytes in a row between two of these.
static PATH: LazyLock<Regex> = LazyLock::new(|| {
    let between = r#"[\x00-\x20"'=:,;()<>\[\]]"#;
    let unix = r"/[\w.+@~-]{2,}(?:/[\w.+@~-]+)+";
    let windows = r"[A-Za-z]:[\\/](?:[\w.+@~ -]+[\\/])+[\w.+@~ -]+";
    let option = r"(?:-[A-Za-z][\w-]*)?";
    Regex::new(&format!("(?-u)(?:^|{between}){option}({unix}|{windows})/?(?:$|{between})")).expect("it is one")
});

/// Where the system, the toolkits and compilers are installed: these are the same on every machine.
const OF_THE_SYSTEM: [&str; 9] =
    ["/usr/", "/lib/", "/lib64/", "/bin/", "/etc/", "/dev/", "/proc/", "/sys/", "/opt/rocm"];

/// Below these stands nothing that was installed.
const NOT_OF_THE_SYSTEM: [&str; 2] = ["/usr/src/", "/usr/local/src/"];

/// A bound for hostile images; whoever has as many needs no more.
const MOST: usize = 1000;

/// The paths that stand in these bytes, sorted, each once.
pub fn build_paths(view: View<'_>) -> Vec<String> {
    let mut paths = BTreeSet::new();
    let mut at = 0;
    while let Some(found) = PATH.captures_at(view.data(), at) {
        let path = found.get(1).expect("it is part of every match");
        // What ends one may begin the next.
        at = path.end();
        let text = String::from_utf8_lossy(path.as_bytes()).into_owned();
        if !is_of_the_system(&text) {
            paths.insert(text);
        }
        if paths.len() == MOST {
            break;
        }
    }
    paths.into_iter().collect()
}

fn is_of_the_system(path: &str) -> bool {
    let is_below = |prefix: &&str| path.starts_with(*prefix);
    OF_THE_SYSTEM.iter().any(is_below) && !NOT_OF_THE_SYSTEM.iter().any(is_below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(bytes: &[u8]) -> Vec<String> {
        build_paths(View::new(bytes))
    }

    #[test]
    fn paths_are_found_between_whatever_ends_a_string() {
        assert_eq!(paths(b"\0/home/me/src/a.cu\0"), ["/home/me/src/a.cu"]);
        assert_eq!(paths(b"-I/build/include -o /tmp/x/y.o"), ["/build/include", "/tmp/x/y.o"]);
        assert_eq!(paths(b"\0C:\\Users\\me\\a.cu\0D:/ci/work/b.cu\0"), ["C:\\Users\\me\\a.cu", "D:/ci/work/b.cu"]);
        assert_eq!(paths(b"\0/b/one.c\0/home/a/x\0/home/a/x\0"), ["/home/a/x"]);
    }

    #[test]
    fn what_is_installed_is_not_of_the_build() {
        assert_eq!(paths(b"\0/usr/include/stdio.h\0/opt/rocm-6.4.0/lib/x\0"), [""; 0]);
        assert_eq!(paths(b"\0/usr/src/app/kernel.cu\0"), ["/usr/src/app/kernel.cu"]);
    }

    #[test]
    fn neither_code_nor_a_lone_slash_is_a_path() {
        assert_eq!(paths(b"a / b // c /x/ http://example.com/page\0"), [""; 0]);
        assert_eq!(paths(&(0..=255).cycle().take(70_000).map(|byte: u32| byte as u8).collect::<Vec<_>>()), [""; 0]);
    }
}
