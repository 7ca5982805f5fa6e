//! `fatbin FILE...`: one screen.

use crate::Sandbox;

/// Returns objects for GPUs of NVIDIA and AMD.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "a").fixture("answer-sm_80.ptx", "b.ptx");
    sandbox.fixture("answer-gfx90a.hsaco", "c");
    sandbox.fatbin("wrap --kind cuda --entry answer_kernel=stub -o cuda.o a b.ptx").ok();
    sandbox.fatbin("wrap --kind hip --entry answer_kernel=stub -o hip.o c").ok();
    sandbox
}

#[test]
fn says_what_a_file_is_and_where_it_runs() {
    let sandbox = sandbox();
    let out = sandbox.fatbin("cuda.o").ok();
    let size = sandbox.read("cuda.o").len();
    assert!(out.starts_with(&format!("cuda.o: {:.1} KiB, elf\n", size as f64 / 1024.0)), "{out}");
    for part in [
        "  bytes     ",
        "A100 sm_80 by PTX sm_80",
        "H100 sm_90 native",
        "B300 sm_103 by PTX sm_80",
        "T4 sm_75 nothing",
        "  needs     driver 580.65.06 (CUDA 13.0) or newer\n",
        "  gaps      none\n",
        "  damage    none\n",
        "  next      fatbin select --device T4 cuda.o\n",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(!out.contains("gfx"), "devices of other platforms are left out: {out}");
    let both = sandbox.fatbin("cuda.o hip.o").ok();
    assert!(both.starts_with("2 inputs: ") && both.contains("2 files with device code\n"), "{both}");
    assert!(both.contains("H100 sm_90 native") && both.contains("MI250X gfx90a native"), "{both}");
    assert!(both.contains("MI300X gfx942 nothing"), "{both}");
}

#[test]
fn fits_one_screen_and_its_commands_can_be_pasted() {
    let sandbox = sandbox();
    sandbox.shell("cp cuda.o 'a file.o'; mkdir lib; cp hip.o lib").ok();
    for inputs in ["cuda.o", "'a file.o'", "lib", "cuda.o hip.o"] {
        let out = sandbox.shell(&format!("fatbin {inputs}")).ok();
        let lines: Vec<&str> = out.lines().collect();
        assert!(lines.len() <= 24 && lines.iter().all(|line| line.chars().count() <= 80), "{out}");
        let commands = lines.iter().rev().take(3).map(|line| line.trim_start().trim_start_matches("next").trim_start());
        for command in commands {
            assert!(command.starts_with("fatbin ") && command.ends_with(inputs), "{command}");
            let run = sandbox.shell(command);
            assert!(run.status < 2, "{command}: {}", run.err);
        }
    }
}

#[test]
fn gaps_and_damage_have_a_line_and_the_command_that_explains_them() {
    let sandbox = sandbox();
    let mut bytes = sandbox.read("hip.o");
    let image = bytes.windows(4).rposition(|bytes| bytes == b"\x7fELF").unwrap();
    bytes[image + 40..image + 48].copy_from_slice(&[0xff; 8]);
    let run = sandbox.file("damaged.o", bytes).fatbin("damaged.o");
    assert!(run.out.contains("  damage    1 problem: "), "{}", run.out);
    assert!(run.out.contains("  next      fatbin verify damaged.o\n"), "{}", run.out);
    let empty = sandbox.file("text", "nothing\n").fatbin("./text");
    assert_eq!(empty.status, 1);
    assert!(empty.out.starts_with("text: 8 B, raw, no device images\n"), "{}", empty.out);
}

#[test]
fn a_path_is_a_file_and_a_word_is_a_command() {
    let sandbox = sandbox();
    sandbox.shell("cp cuda.o scan; cp cuda.o library").ok();
    assert!(sandbox.fatbin("scan scan").ok().contains("CONTAINER"), "a command before a file");
    for command in ["library", "./scan", "--color never library", "--threads 1 ./library", "--quiet library"] {
        assert!(sandbox.fatbin(command).ok().contains("H100 sm_90 native"), "{command}");
    }
    let missing = sandbox.fatbin("missing.so");
    assert!(missing.status == 2 && missing.err.starts_with("fatbin: missing.so: cannot open"), "{}", missing.err);
    for (word, command) in [("ls", "scan"), ("info", "scan"), ("warp", "wrap")] {
        let run = sandbox.fatbin(&format!("{word} library"));
        assert!(run.err.contains(&format!("did you mean {command}?")), "{}", run.err);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_shows_colors_with_a_meaning() {
    let sandbox = sandbox();
    let text = crate::terminal::at_a_terminal::shown(&sandbox, 80, "fatbin cuda.o", ("A", "b"));
    assert!(text.contains("\u{1b}[2mH100 sm_90 native\u{1b}[0m"), "{text:?}");
    assert!(text.contains("\u{1b}[31mT4 sm_75 nothing\u{1b}[0m"), "{text:?}");
    assert!(text.contains("\u{1b}[33mA100 sm_80 by PTX sm_80\u{1b}[0m"), "{text:?}");
    let plain = console::strip_ansi_codes(&text).into_owned();
    assert_eq!(plain, sandbox.fatbin("cuda.o").ok());
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_shows_a_summary_of_many_images() {
    let sandbox = sandbox();
    let many = "cuda.o ".repeat(20);
    let show = |command: &str| crate::terminal::at_a_terminal::shown(&sandbox, 100, command, ("NO_COLOR", "1"));
    let text = show(&format!("fatbin scan {many}"));
    assert!(text.starts_with("40 device images for 2 archs\n  ARCH"), "{text}");
    assert!(text.contains("\ncuda.o: elf, ") && !text.contains("CONTAINER"), "{text}");
    assert!(text.ends_with("  and 4 more files\n  use --images to list the images, or -v\n"), "{text}");
    for option in ["--images", "-v"] {
        let listed = show(&format!("fatbin scan {option} {many}"));
        assert_eq!(listed.matches("CONTAINER").count(), 20, "{listed}");
    }
    let piped = show(&format!("fatbin scan {many} | cat"));
    assert_eq!(piped, sandbox.fatbin(&format!("scan {many}")).ok());
    assert!(show("fatbin scan cuda.o").contains("CONTAINER"));
}
