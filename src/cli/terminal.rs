//! Width and colors of standard output.

use std::io::{self, StdoutLock};

use anstream::{AutoStream, ColorChoice};
use clap::{Args, ValueEnum};

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

/// Returns standard output for text that is formatted for `screen`.
pub fn output(screen: &Screen) -> AutoStream<StdoutLock<'static>> {
    let stdout = io::stdout().lock();
    // Without color there is nothing to strip from what may be gigabytes of JSON.
    if screen.color { AutoStream::always(stdout) } else { AutoStream::always_ansi(stdout) }
}
