//! Tables of command lines.
//!
//! Each line has three columns: releases of LLVM, expectations, and the command. Releases are a number, `15-19` or `15-`.
//! Expectations are the drop-ins that are called, or `-` for none. `fails` stands for a command that must fail. The
//! reason why outputs may differ is a [`Reason`]. A line whose second column is `$NAME =` defines text that replaces
//! `$NAME` in commands. Empty lines and lines that begin with `#` are ignored. Anything else is an error with the line:
//! a misspelled column must not weaken a test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// A tool that clang calls and fatbin replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    Bundler,
    Packager,
    Wrapper,
    Fatbinary,
}

impl Tool {
    pub const ALL: [Tool; 4] = [Tool::Bundler, Tool::Packager, Tool::Wrapper, Tool::Fatbinary];

    /// Returns the tool's name in calls by clang of this release.
    pub fn name(self, release: u32) -> &'static str {
        match self {
            Tool::Bundler => "clang-offload-bundler",
            Tool::Packager if release < 22 => "clang-offload-packager",
            Tool::Packager => "llvm-offload-binary",
            Tool::Wrapper => "clang-offload-wrapper",
            Tool::Fatbinary => "fatbinary",
        }
    }

    fn parse(text: &str) -> Result<Tool> {
        Ok(match text {
            "bundler" => Tool::Bundler,
            "packager" => Tool::Packager,
            "wrapper" => Tool::Wrapper,
            "fatbinary" => Tool::Fatbinary,
            _ => bail!("unknown tool `{text}`"),
        })
    }
}

/// Reason why the outputs of both sides differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// `zstd`: LLVM's version of the encoder compresses the code to other bytes. The images are compared.
    Compression,
    /// `temporary`: clang writes the names of its temporary files, which contain random digits. All other bytes are compared.
    TemporaryNames,
    /// `layout`: llvm-objcopy places sections at other offsets, takes over the mode of a temporary file, and LLVM orders the
    /// names of symbols in another way. The sections and symbols of objects are compared, and the sections of programs.
    Layout,
    /// `host`: the bundlers up to LLVM 16 leave the sections of the bundle in the host's object. The other sections are
    /// compared, as with `layout`.
    HostObject,
    /// `order`: the tool lists IDs in the order of a hash map. The sorted output is compared.
    ListOrder,
}

impl Reason {
    fn parse(text: &str) -> Option<Reason> {
        Some(match text {
            "zstd" => Reason::Compression,
            "temporary" => Reason::TemporaryNames,
            "layout" => Reason::Layout,
            "host" => Reason::HostObject,
            "order" => Reason::ListOrder,
            _ => return None,
        })
    }
}

/// A command line of a release.
pub struct Line {
    /// Number of the line in the table.
    pub number: usize,
    /// Drop-ins that the command calls.
    pub calls: BTreeSet<Tool>,
    /// True if the command must fail.
    pub fails: bool,
    /// Reason why outputs are not compared by their bytes.
    pub reason: Option<Reason>,
    pub command: String,
}

/// Reads the lines of a table that apply to a release.
pub fn read(path: &Path, release: u32) -> Result<Vec<Line>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    parse(&text, release).with_context(|| path.display().to_string())
}

fn parse(text: &str, release: u32) -> Result<Vec<Line>> {
    let mut definitions = BTreeMap::new();
    let mut lines = Vec::new();
    for (index, text) in text.lines().enumerate() {
        let number = index + 1;
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let context = || format!("line {number}: `{text}`");
        let (releases, rest) = text.split_once(' ').with_context(context)?;
        let (second, command) = rest.trim_start().split_once(' ').with_context(context)?;
        let applies = applies(releases, release).with_context(context)?;
        if let Some(name) = second.strip_prefix('$') {
            let value = command.strip_prefix('=').with_context(context)?.trim();
            ensure!(!applies || definitions.insert(name, value).is_none(), "duplicate definition in {}", context());
        } else {
            let mut line = Line::parse(number, second).with_context(context)?;
            if applies {
                line.command = expand(command.trim_start(), &definitions).with_context(context)?;
                lines.push(line);
            }
        }
    }
    Ok(lines)
}

fn applies(releases: &str, release: u32) -> Result<bool> {
    let (first, last) = releases.split_once('-').unwrap_or((releases, releases));
    let is_before_end = last.is_empty() || release <= last.parse()?;
    Ok(first.parse::<u32>()? <= release && is_before_end)
}

impl Line {
    /// Returns whether the program is clang or one of its tools.
    pub fn runs_llvm(&self) -> bool {
        ["clang ", "bundler "].iter().any(|program| self.command.starts_with(program))
    }

    /// Parses the expectations.
    fn parse(number: usize, expectations: &str) -> Result<Line> {
        let (calls, command) = (BTreeSet::new(), String::new());
        let mut line = Line { number, calls, fails: false, reason: None, command };
        for word in expectations.split(',').filter(|word| *word != "-") {
            match word {
                "fails" => line.fails = true,
                _ => match Reason::parse(word) {
                    Some(reason) => line.reason = Some(reason),
                    None => _ = line.calls.insert(Tool::parse(word)?),
                },
            }
        }
        Ok(line)
    }
}

/// Replaces each `$NAME`, whose name consists of lowercase letters, by its definition.
fn expand(command: &str, definitions: &BTreeMap<&str, &str>) -> Result<String> {
    let mut parts = command.split('$');
    let mut expanded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        expanded += definitions.get(name).with_context(|| format!("undefined name ${name}"))?;
        expanded += rest;
    }
    Ok(expanded)
}
