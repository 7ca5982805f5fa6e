//! The program `fatbin`. Its command line is in [`fatbin::cli`].

fn main() -> std::process::ExitCode {
    fatbin::cli::run()
}
