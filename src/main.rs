//! The program; see the library for everything else.

fn main() -> std::process::ExitCode {
    fatbin::cli::run()
}
