//! Standard output as what it is: a terminal, which has a width and may have colors, or something else.

use std::io::{self, StdoutLock};

use anstream::{AutoStream, ColorChoice};
use clap::{Args, ValueEnum};

use crate::report::Screen;

/// The option that all commands have.
#[derive(Args)]
pub struct ColorArgument {
    /// Whether to color what asks for attention; auto is for terminals, and not where NO_COLOR is set
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

#[derive(Clone, Copy, ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

impl ColorArgument {
    /// From here on it holds for all that is printed.
    pub fn apply(&self) {
        let choice = match self.color {
            When::Auto => ColorChoice::Auto,
            When::Always => ColorChoice::Always,
            When::Never => ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// What standard output is.
pub fn screen() -> Screen {
    let stdout = io::stdout();
    let width = terminal_size::terminal_size_of(&stdout).map(|(width, _)| usize::from(width.0));
    Screen { width, color: AutoStream::choice(&stdout) != ColorChoice::Never }
}

/// Standard output for text that is laid out for this screen.
pub fn output(screen: &Screen) -> AutoStream<StdoutLock<'static>> {
    let stdout = io::stdout().lock();
    // Without color there is nothing to look for in what may be gigabytes of JSON.
    if screen.color { AutoStream::always(stdout) } else { AutoStream::always_ansi(stdout) }
}
