//! Programs that tests write and run.

use std::io::{self, Write};
use std::path::Path;
use std::process::Stdio;

use super::command::command;

/// Writes a program that a test runs, such as a shell script, or replaces it.
///
/// The shell writes it, because the kernel runs no file that is open for writing ("text file busy"): a file that this process has
/// open is inherited by each command that another test starts at that moment, until the command calls exec.
pub fn write_program(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let mut shell = command("sh");
    shell.args(["-c", "cat >\"$0\" && chmod +x \"$0\""]).arg(path);
    let mut writer = shell.stdin(Stdio::piped()).spawn()?;
    if let Some(mut input) = writer.stdin.take() {
        input.write_all(bytes.as_ref())?;
    }
    let status = writer.wait()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{shell:?}: {status}"))) }
}
