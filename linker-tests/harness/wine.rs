//! Windows programs under Wine.
//!
//! All trials share one Wine server, which runs until the last trial has ended. A server that Wine starts itself ends two
//! seconds after its last client: a program that starts at that moment finds its connection closed and does not run (Wine
//! 8.0: "wine client error:0: recvmsg: Connection reset by peer", or no message at all).

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, ensure};

use super::command::command;
use super::step::Step;
use super::tools::Tool;

/// State of the server: true while it runs. The lock allows one program at a time.
static SERVER: Mutex<bool> = Mutex::new(false);

/// Runs a program for Windows in a directory. Its output goes to files: services of Wine outlive it and keep pipes open.
pub fn wine(directory: &Path, program: &Path, arguments: &[&str]) -> Result<Output> {
    let wine = Tool::Wine.path()?;
    let _server = running_server(&wine)?;
    let [stdout, stderr] = ["stdout", "stderr"].map(|name| directory.join(name));
    let mut command = in_prefix(&wine);
    command.current_dir(directory).arg(program).args(arguments);
    command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
    Ok(Output { status: command.status()?, stdout: std::fs::read(stdout)?, stderr: std::fs::read(stderr)? })
}

/// Makes the import library that lets programs without a C runtime call the functions of Windows.
pub fn import_library(directory: &Path) -> Result<PathBuf> {
    let definitions = directory.join("kernel32.def");
    let library = directory.join("kernel32.lib");
    std::fs::write(&definitions, "LIBRARY kernel32.dll\nEXPORTS\nExitProcess\nGetStdHandle\nWriteFile\n")?;
    let step = Step::new(directory, Tool::Dlltool.path()?).args(["-m", "i386:x86-64", "-d"]);
    step.arg(definitions).arg("-l").arg(&library).run()?;
    Ok(library)
}

/// Ends the server, if a trial started it.
pub fn stop_server() {
    let mut is_running = server();
    if *is_running && let Ok(wine) = Tool::Wine.path() {
        let _ = in_prefix(wine.with_file_name("wineserver")).arg("--kill").status();
        *is_running = false;
    }
}

/// Starts the server before the first program, and makes the prefix.
fn running_server(wine: &Path) -> Result<MutexGuard<'static, bool>> {
    let mut is_running = server();
    if !*is_running {
        let program = wine.with_file_name("wineserver");
        // The server of a run that was killed.
        let _ = in_prefix(&program).arg("--kill").status();
        let prefix = prefix();
        // wineboot writes the registry last.
        let is_new = !prefix.join("system.reg").is_file();
        std::fs::create_dir_all(&prefix)?;
        let status = in_prefix(&program).arg("--persistent").status().context("wineserver")?;
        ensure!(status.success(), "wineserver --persistent: {status}");
        *is_running = true;
        if is_new {
            // Otherwise the first program starts while services of the new prefix still start.
            let status = in_prefix(wine.with_file_name("wineboot")).arg("--init").status().context("wineboot")?;
            ensure!(status.success(), "wineboot --init: {status}");
        }
    }
    Ok(is_running)
}

/// A trial that failed while it held the lock left nothing half done.
fn server() -> MutexGuard<'static, bool> {
    SERVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a command of Wine in the prefix of the trials, without messages of Wine itself.
fn in_prefix(program: impl AsRef<OsStr>) -> Command {
    let mut command = command(program);
    command.env("WINEPREFIX", prefix()).env("WINEDEBUG", "-all");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn prefix() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("wine")
}
