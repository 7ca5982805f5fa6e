//! Standard output: its width and colors, and the escaping of all text that is written to it.

use std::borrow::Cow;
use std::io::{self, StdoutLock, Write};
use std::path::PathBuf;

use anstream::{AutoStream, ColorChoice};
use clap::{Args, ValueEnum};

use crate::escape::{escape, escape_lines};
use crate::report::Screen;

/// The option `--color` of all commands.
#[derive(Debug, Args)]
pub struct ColorArgument {
    /// When to use colors; auto uses them on terminals unless NO_COLOR is set
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true,
        display_order = 1000
    )]
    color: When,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

impl ColorArgument {
    /// Applies the choice to all output that follows.
    pub fn apply(&self) {
        let choice = match self.color {
            When::Auto => ColorChoice::Auto,
            When::Always => ColorChoice::Always,
            When::Never => ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// Returns width and color support of standard output.
pub fn screen() -> Screen {
    let stdout = io::stdout();
    let width = terminal_size::terminal_size_of(&stdout).map(|(width, _)| usize::from(width.0));
    Screen { width, color: AutoStream::choice(&stdout) != ColorChoice::Never }
}

/// Standard output for text. Reports escape the texts of files in their places; what passes them nevertheless is escaped
/// here, except for line feeds and tabs.
pub struct TextOutput {
    stream: AutoStream<StdoutLock<'static>>,
    has_color: bool,
}

/// Returns standard output for text that is formatted for `screen`.
pub fn output(screen: &Screen) -> TextOutput {
    let stdout = io::stdout().lock();
    // Without color there is nothing to strip from what may be gigabytes of JSON.
    let stream = if screen.color { AutoStream::always(stdout) } else { AutoStream::always_ansi(stdout) };
    TextOutput { stream, has_color: screen.color }
}

/// Writes text to standard output.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = output(&Screen::default());
    out.write(text)?;
    out.flush()
}

/// Writes paths to standard output, one per line.
pub fn print_paths(paths: &[PathBuf]) -> io::Result<()> {
    let lines = paths.iter().map(|path| escape(&path.to_string_lossy()).into_owned() + "\n");
    print(&lines.collect::<String>())
}

impl TextOutput {
    /// Writes lines of text.
    pub fn write(&mut self, text: &str) -> io::Result<()> {
        let text = if self.has_color { Cow::Owned(escape_colored(text)) } else { escape_lines(text) };
        self.stream.write_all(text.as_bytes())
    }

    /// Passes buffered text on.
    pub fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Introducer of the sequences that select colors.
const INTRODUCER: &str = "\x1b[";

/// Escapes lines, except for the sequences that select colors.
fn escape_colored(text: &str) -> String {
    let (first, rest) = text.split_once(INTRODUCER).unwrap_or((text, ""));
    let mut output = escape_lines(first).into_owned();
    for part in rest.split(INTRODUCER).filter(|_| first.len() < text.len()) {
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
    fn colors_pass_and_other_sequences_are_escaped() {
        for text in ["", "plain\n", "\x1b[33mwarning\x1b[0m\n", "\x1b[0;1;31m", "\x1b[m"] {
            assert_eq!(escape_colored(text), text);
        }
        let text = "\x1b[33mname\x1b[2J\x1b]0;title\x07\x1b[31\u{202e}m\x1b[";
        assert_eq!(escape_colored(text), "\x1b[33mname\\u{1b}[2J\\u{1b}]0;title\\u{7}\\u{1b}[31\\u{202e}m\\u{1b}[");
    }
}
