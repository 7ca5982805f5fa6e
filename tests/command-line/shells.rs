//! `fatbin completions` and `fatbin man`: files for packages of the program.

use crate::{Sandbox, commands_of_help};

#[test]
fn completions_list_every_command_for_every_shell() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let text = sandbox.fatbin(&format!("completions {shell}")).ok();
        for command in ["wrap", "check", "install-links", "completions"] {
            assert!(text.contains(command), "{shell}: {command}");
        }
    }
    assert_eq!(sandbox.fatbin("completions cmd").status, 2);
}

#[test]
fn bash_completes_a_command_and_its_options() {
    let sandbox = Sandbox::new();
    sandbox.file("completions", sandbox.fatbin("completions bash").ok());
    let complete = |words: &str| {
        let script = format!(
            ". ./completions; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _fatbin fatbin \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; echo \"${{COMPREPLY[*]}}\""
        );
        crate::run(sandbox.command("bash").args(["-c", &script])).ok()
    };
    assert_eq!(complete("fatbin insp"), "inspect\n");
    assert_eq!(complete("fatbin scan --nd"), "--ndjson\n");
    assert_eq!(complete("fatbin check --format ma"), "markdown\n");
    assert_eq!(complete("fatbin extract --kind hi"), "hip\n");
    let cases = [
        ("fatbin extract --arch gfx90", "gfx90a"),
        ("fatbin prune --keep sm_9", "sm_90"),
        ("fatbin prune --device gfx94", "gfx942"),
        ("fatbin select --device x86", "x86_64"),
        ("fatbin select --device RTX-40", "RTX-4090"),
        ("fatbin inspect --device sm_10", "sm_100"),
        ("fatbin explain E010", "E0101"),
        ("fatbin explain required", "required-archs"),
    ];
    for (words, name) in cases {
        let completed = complete(words);
        assert!(completed.split_whitespace().any(|word| word == name), "{words}: {completed}");
    }
}

#[test]
fn writes_manual_pages_for_the_program_and_each_command() {
    let sandbox = Sandbox::new();
    sandbox.fatbin("man -o new/pages").ok();
    let help = sandbox.fatbin("--help").ok();
    for command in commands_of_help(&help) {
        let page = String::from_utf8(sandbox.read(&format!("new/pages/fatbin-{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains("Exit status:"), "{command}: {page}");
    }
    let page = sandbox.read("new/pages/fatbin.1");
    assert_eq!(page, sandbox.fatbin("man").ok().into_bytes());
    assert!(sandbox.file("file", "").fatbin("man -o file/pages").err.starts_with("fatbin: file/pages: cannot create"));
}
