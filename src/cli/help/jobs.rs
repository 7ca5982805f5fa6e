//! Commands by job, as help texts and the index of the manual list them.

use std::fmt::Write;

use clap::Command;

use super::render::{width, wrap};
use crate::terminal;

/// What people use commands for.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    /// The verb.
    pub name: &'static str,
    /// What it means here.
    pub meaning: &'static str,
    /// Names of the commands, the first ones first.
    pub commands: &'static [&'static str],
}

const fn job(name: &'static str, meaning: &'static str, commands: &'static [&'static str]) -> Job {
    Job { name, meaning, commands }
}

/// Every command has one job.
pub const JOBS: [Job; 6] = [
    job(
        "Find",
        "what files contain, and where it runs",
        &["scan", "inspect", "select", "requires", "size", "addr2line", "extract"],
    ),
    job("Guard", "what is released", &["check", "verify", "lock", "diff", "metadata"]),
    job(
        "Change",
        "finished files, with a proof",
        &["prune", "strip", "transcode", "replace", "split", "join", "recover"],
    ),
    job(
        "Build",
        "objects, containers and programs",
        &["wrap", "embed", "pack", "bundle", "list", "unbundle", "link", "doctor"],
    ),
    job("Replace", "tools of LLVM, NVIDIA and ROCm", &["install-links"]),
    job("Learn", "more", &["help", "explain", "schema", "completions", "man"]),
];

/// Returns the definition of the program with its commands by job in the help. All commands must be defined.
pub fn by_job(program: Command) -> Command {
    let list = list(&program, width(terminal::width()));
    let options = heading(&program, "Options:");
    with_help(program, &format!("{list}{options}\n{{options}}"))
}

/// Like [`by_job`], with help that fits the first screen of a terminal.
pub fn on_one_screen(program: Command) -> Command {
    let literal = program.get_styles().get_literal();
    let mut text = heading(&program, "Commands:") + "\n";
    for Job { name, commands, .. } in JOBS {
        let _ = writeln!(text, "  {name:8} {literal}{}{literal:#}", commands.join(" "));
    }
    text += &format!("\n{}\n", heading(&program, "More:"));
    let width = MORE.map(|(line, _)| line.len()).into_iter().max().unwrap_or_default();
    for (line, meaning) in MORE {
        let _ = writeln!(text, "  {literal}{line:width$}{literal:#}  {meaning}");
    }
    with_help(program, text.trim_end())
}

fn with_help(program: Command, text: &str) -> Command {
    let examples = examples(&program);
    program.help_template(format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{examples}{text}"))
}

/// Commands that print more help.
const MORE: [(&str, &str); 3] = [
    ("fatbin --help", "what each command does"),
    ("fatbin help COMMAND", "the options of a command"),
    ("fatbin help", "topics, such as no-kernel-image and smaller-wheel"),
];

fn heading(program: &Command, title: &str) -> String {
    let style = program.get_styles().get_header();
    format!("{style}{title}{style:#}")
}

/// First commands to try, and what they print.
const EXAMPLES: [(&str, &str); 3] = [
    ("fatbin a.whl", "sizes, GPUs, driver and gaps"),
    ("fatbin check --asked \"8.0;9.0\" a.whl", "does it have what was asked for?"),
    ("fatbin prune --device H100 -o b.whl a.whl", "keep the code for one GPU"),
];

fn examples(program: &Command) -> String {
    let width = EXAMPLES.map(|(line, _)| line.len()).into_iter().max().unwrap_or_default();
    let mut text = heading(program, "Examples:") + "\n";
    for (line, meaning) in EXAMPLES {
        let _ = writeln!(text, "  {line:width$}  {meaning}");
    }
    text + "\n"
}

/// Lists the commands with their summaries.
fn list(program: &Command, columns: usize) -> String {
    let names = || JOBS.iter().flat_map(|job| job.commands);
    let width = names().map(|name| name.len()).max().unwrap_or_default();
    let literal = program.get_styles().get_literal();
    let mut text = String::new();
    for Job { name, meaning, commands } in JOBS {
        let _ = writeln!(text, "{}", heading(program, &format!("{name} {meaning}:")));
        for command in commands.iter().filter_map(|name| program.find_subcommand(name)) {
            let name = command.get_name();
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let lines = wrap(&about, columns.saturating_sub(width + 4)).join(&format!("\n{:1$}", "", width + 4));
            let _ = writeln!(text, "  {literal}{name}{literal:#}{:1$}  {lines}", "", width - name.len());
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_has_one_job() {
        let program = crate::Arguments::command();
        let visible = program.get_subcommands().filter(|command| !command.is_hide_set());
        let mut defined: Vec<&str> = visible.map(Command::get_name).collect();
        let mut listed: Vec<&str> = JOBS.iter().flat_map(|job| job.commands).copied().collect();
        defined.sort_unstable();
        listed.sort_unstable();
        assert_eq!(defined, listed);
    }

    #[test]
    fn the_index_of_the_guide_lists_commands_by_job() {
        let index = include_str!("../../../docs/guide/README.md");
        for Job { name, meaning, commands } in JOBS {
            let (_, rest) = index.split_once(&format!("\n## {name} {meaning}\n")).expect(name);
            let section = rest.split("\n## ").next().unwrap_or_default();
            for command in commands {
                assert!(section.contains(&format!("`{command}`")), "docs/guide/README.md lacks {command} under {name}");
            }
        }
    }
}
