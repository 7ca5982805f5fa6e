//! Standard output: its width and colors, and the escaping of all text that is written to it.

use std::borrow::Cow;
use std::env::var_os;
use std::ffi::OsString;
use std::io::{self, StdoutLock, Write};
use std::path::PathBuf;

use console::Term;

use super::session::{Session, When};
use crate::report::Screen;
use fatbin_core::base::escape::{escape, escape_lines};
use fatbin_core::base::io::SortedTexts;

/// Follows the rules of other programs with clap. Sources: <https://no-color.org>, <https://bixense.com/clicolors>.
/// Terminals in CI show colors, though `TERM` may be missing there.
fn is_colored(choice: When, is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let is_set = |name| variable(name).is_some_and(|value| !value.is_empty());
    let is_wanted = variable("CLICOLOR").map(|value| value != "0");
    let supports_colors = || variable("TERM").map_or(cfg!(windows), |name| name != "dumb");
    match choice {
        When::Always => true,
        When::Never => false,
        When::Auto if is_set("NO_COLOR") => false,
        When::Auto if is_set("CLICOLOR_FORCE") => true,
        When::Auto => match is_wanted {
            Some(is_wanted) => is_wanted && is_terminal,
            None => is_terminal && (supports_colors() || variable("CI").is_some()),
        },
    }
}

/// Width of standard output in columns; `None` if it is no terminal. As in coreutils, `COLUMNS` overrides the width that a
/// terminal reports.
pub fn width() -> Option<usize> {
    let variable = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|&columns: &usize| columns > 0);
    let reported = Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    reported.map(|columns| variable().unwrap_or(columns))
}

/// Standard output for text. Reports escape text from files where they insert it. As a safeguard, everything is escaped
/// here again, except for line feeds and tabs.
pub struct TextOutput {
    session: Session,
    stream: StdoutLock<'static>,
    has_color: bool,
    held: Option<SortedTexts>,
}

impl Session {
    /// A report was written to a terminal.
    pub fn has_shown(&self) -> bool {
        self.has_written() && Term::stdout().is_term()
    }

    /// Text on standard output or standard error is colored.
    pub fn has_color(&self, stream: &Term) -> bool {
        // Consoles of Windows print the sequences of colors as text until the library has turned them on.
        let accepts_colors = || cfg!(unix) || !stream.is_term() || stream.features().colors_supported();
        is_colored(self.color(), stream.is_term(), |name| var_os(name)) && accepts_colors()
    }

    /// Width and color support of standard output.
    pub fn screen(&self) -> Screen {
        Screen { width: width(), color: self.has_color(&Term::stdout()) }
    }

    /// Standard output for text that is formatted for `screen`.
    pub fn output(&self, screen: &Screen) -> TextOutput {
        TextOutput { session: self.clone(), stream: io::stdout().lock(), has_color: screen.color, held: None }
    }

    /// Writes text to standard output.
    pub fn print(&self, text: &str) -> io::Result<()> {
        self.print_report(text, &Screen::default())
    }

    /// Writes a text that is formatted for `screen` to standard output. `parts` calls a function with its parts.
    pub fn print_parts(&self, screen: &Screen, parts: impl FnOnce(&mut dyn FnMut(&str))) -> io::Result<()> {
        let mut out = self.output(screen);
        let mut written = Ok(());
        parts(&mut |part| {
            if written.is_ok() {
                written = out.write(part);
            }
        });
        written.and_then(|()| out.flush())
    }

    /// Writes text that is formatted for `screen` to standard output.
    pub fn print_report(&self, text: &str, screen: &Screen) -> io::Result<()> {
        let mut out = self.output(screen);
        out.write(text)?;
        out.flush()
    }

    /// Writes what a command has written or changed to standard output, unless `--quiet` is set.
    pub fn print_summary(&self, text: &str) -> io::Result<()> {
        if self.is_quiet() { Ok(()) } else { self.print(text) }
    }

    /// Writes the paths of written files like [`Session::print_summary`], one per line.
    pub fn print_paths(&self, paths: &[PathBuf]) -> io::Result<()> {
        let lines = paths.iter().map(|path| escape(&path.to_string_lossy()).into_owned() + "\n");
        self.print_summary(&lines.collect::<String>())
    }
}

impl TextOutput {
    /// Keeps text until it is flushed, on disk if it is long. A command that may fail at its end writes nothing.
    pub fn hold(&mut self) {
        self.held = Some(SortedTexts::new());
    }

    /// Writes lines of text.
    pub fn write(&mut self, text: &str) -> io::Result<()> {
        let text = if self.has_color { Cow::Owned(escape_colored(text)) } else { escape_lines(text) };
        match &mut self.held {
            // Texts of one name stay in order.
            Some(held) => held.add("standard output", &text).map_err(io::Error::other),
            None => self.write_escaped(text.as_bytes()),
        }
    }

    fn write_escaped(&mut self, text: &[u8]) -> io::Result<()> {
        if !text.is_empty() {
            self.session.record_written();
        }
        let TextOutput { session, stream, .. } = self;
        session.progress().suspend(|| stream.write_all(text))
    }

    /// Passes buffered text on.
    pub fn flush(&mut self) -> io::Result<()> {
        let mut written = Ok(());
        if let Some(held) = self.held.take() {
            let read = held.each(&mut |text| {
                written = std::mem::replace(&mut written, Ok(())).and_then(|()| self.write_escaped(text));
                Ok(())
            });
            read.map_err(io::Error::other)?;
        }
        written.and_then(|()| self.stream.flush())
    }
}

/// Introducer of the sequences that select colors.
const INTRODUCER: &str = "\x1b[";

/// Escapes lines, except for the sequences that select colors.
fn escape_colored(text: &str) -> String {
    let Some((first, rest)) = text.split_once(INTRODUCER) else { return escape_lines(text).into_owned() };
    let mut output = escape_lines(first).into_owned();
    for part in rest.split(INTRODUCER) {
        match part.split_once('m') {
            Some((color, after)) if color.bytes().all(|byte| byte.is_ascii_digit() || byte == b';') => {
                output.extend([INTRODUCER, color, "m", &escape_lines(after)]);
            }
            _ => output.extend([&*escape_lines(INTRODUCER), &*escape_lines(part)]),
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_decide_on_colors_unless_the_option_does() {
        // Variables, and whether text on a terminal and in a file is colored.
        let cases = [
            ("", [cfg!(windows), false]),
            ("TERM=xterm", [true, false]),
            ("TERM=dumb", [false, false]),
            ("TERM=dumb CI=", [true, false]),
            ("TERM=dumb CLICOLOR=1", [true, false]),
            ("TERM=xterm CLICOLOR=0 CI=1", [false, false]),
            ("CLICOLOR=", [true, false]),
            ("TERM=xterm NO_COLOR=", [true, false]),
            ("TERM=xterm NO_COLOR=0", [false, false]),
            ("TERM=xterm NO_COLOR=1 CLICOLOR_FORCE=1", [false, false]),
            ("CLICOLOR_FORCE=0", [true, true]),
            ("CLICOLOR_FORCE=1 CLICOLOR=0", [true, true]),
            ("CLICOLOR_FORCE= TERM=xterm", [true, false]),
        ];
        for (variables, expected) in cases {
            let value = |name: &str| {
                let mut assignments = variables.split(' ').filter_map(|assignment| assignment.split_once('='));
                assignments.find(|(known, _)| *known == name).map(|(_, value)| value.into())
            };
            let on_both = |choice| [true, false].map(|is_terminal| is_colored(choice, is_terminal, value));
            assert_eq!(on_both(When::Auto), expected, "{variables}");
            assert_eq!([on_both(When::Always), on_both(When::Never)], [[true; 2], [false; 2]], "{variables}");
        }
    }

    #[test]
    fn colors_pass_and_other_sequences_are_escaped() {
        for text in ["", "plain\n", "\x1b[33mwarning\x1b[0m\n", "\x1b[0;1;31m", "\x1b[m"] {
            assert_eq!(escape_colored(text), text);
        }
        let text = "\x1b[33mname\x1b[2J\x1b]0;title\x07\x1b[31\u{202e}m\x1b[";
        assert_eq!(escape_colored(text), "\x1b[33mname\\u{1b}[2J\\u{1b}]0;title\\u{7}\\u{1b}[31\\u{202e}m\\u{1b}[");
    }
}
