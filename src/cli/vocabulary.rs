//! Tests of the vocabulary of options: one name has one value, one heading and one meaning in all commands, and no
//! command lacks the options that all others of its sort have.

use std::collections::{BTreeMap, BTreeSet};

use clap::{Arg, Command, CommandFactory, ValueEnum};

use super::format::Format;
use super::{headings, outputs};

/// Options whose name has several values or headings, with the reason.
const DIFFERENT: [(&str, &str); 5] = [
    ("compress", "kpack archives have one codec: split takes its level"),
    ("image", "filters take a number, replace a number and a file, and wrap and pack a file and its properties"),
    ("index", "embed takes the name of the table, extract writes index.json"),
    ("output", "some commands write several files to a directory"),
    ("proof", "check reads proofs that changes write"),
];

/// Commands that neither report in several formats nor write files with an option, with the reason.
const WITHOUT_FORMAT: [(&str, &str); 8] = [
    ("completions", "prints a script"),
    ("explain", "prints pages"),
    ("help", "prints pages"),
    ("link", "prints what the linker prints; --report is its report"),
    ("list", "prints one ID per line, as clang-offload-bundler does"),
    ("overview", "one screen for people; scan reports the same"),
    ("recover", "prints the paths of restored files"),
    ("schema", "prints JSON"),
];

fn program() -> Command {
    let mut program = crate::Arguments::command();
    program.build();
    program
}

/// Returns the options of all commands, each with its command and its long name.
fn options(program: &Command) -> impl Iterator<Item = (&str, &str, &Arg)> {
    program.get_subcommands().flat_map(|command| {
        let options = command.get_arguments().filter_map(|option| Some((option.get_long()?, option)));
        options.map(|(name, option)| (command.get_name(), name, option))
    })
}

fn value_of(option: &Arg) -> String {
    let is_flag = !option.get_action().takes_values();
    if is_flag { String::new() } else { option.get_value_names().unwrap_or_default().join(" ") }
}

#[test]
fn one_name_has_one_value_one_heading_and_one_letter() {
    let program = program();
    let mut meanings: BTreeMap<&str, BTreeMap<_, Vec<&str>>> = BTreeMap::new();
    let mut letters: BTreeMap<char, BTreeSet<&str>> = BTreeMap::new();
    for (command, name, option) in options(&program) {
        let meaning = (value_of(option), option.get_help_heading(), option.get_short());
        meanings.entry(name).or_default().entry(meaning).or_default().push(command);
        letters.entry(option.get_short().unwrap_or('-')).or_default().insert(name);
    }
    let different: Vec<&str> = meanings.iter().filter(|(_, it)| it.len() > 1).map(|(name, _)| *name).collect();
    assert_eq!(different, DIFFERENT.map(|(name, _)| name), "{meanings:#?}");
    letters.remove(&'-');
    letters.retain(|_, names| names.len() > 1);
    assert!(letters.is_empty(), "{letters:?}");
    assert!(meanings.len() > 100, "{} options", meanings.len());
}

#[test]
fn no_alias_is_the_name_of_another_option() {
    let program = program();
    let names: BTreeSet<&str> = options(&program).map(|(_, name, _)| name).collect();
    // Old spellings of options whose name got another meaning elsewhere.
    let old = [("extract", "to"), ("split", "format")];
    for (command, name, option) in options(&program) {
        for alias in option.get_all_aliases().unwrap_or_default() {
            let is_filter = (name, alias) == ("device", "compatible-with");
            let is_old = alias == name || is_filter || old.contains(&(command, alias));
            assert!(!names.contains(alias) || is_old, "{command} --{name}: alias {alias}");
        }
    }
}

/// The headings are a closed set. Every command has the options without a heading.
#[test]
fn every_option_has_a_heading() {
    let program = program();
    let known = [headings::INPUT, headings::SELECTION, headings::JUDGEMENT, headings::OUTPUT, headings::LIMITS];
    for (command, name, option) in options(&program) {
        let is_common = ["help", "color", "threads", "quiet"].contains(&name);
        match option.get_help_heading() {
            Some(heading) => assert!(known.contains(&heading), "{command} --{name}: {heading}"),
            None => assert!(is_common, "{command} --{name}: state help_heading, one of src/cli/headings.rs"),
        }
    }
}

/// An option takes devices if it says so, or if shells complete GPUs as its values.
#[test]
fn devices_are_the_option_device() {
    let program = program();
    let mut count = 0;
    for (command, name, option) in options(&program) {
        let completes = option.get_possible_values().iter().any(|value| value.get_name() == "H100");
        if value_of(option) != "DEVICE" && !completes {
            assert!(name != "device" && name != "devices", "{command} --{name}: use DeviceArguments");
            continue;
        }
        assert!(completes && value_of(option) == "DEVICE", "{command} --{name}: use DeviceArguments");
        // The devices of the matrix are not a filter of its images.
        let is_filter = (command, name) == ("inspect", "compatible-with");
        assert!(name == "device" || is_filter, "{command} --{name}: the name of the option is --device");
        let help = option.get_help().map(ToString::to_string).unwrap_or_default();
        assert!(help.contains("H100") && help.contains("sm_90"), "{command} --{name}: {help}");
        count += 1;
    }
    assert!(count > 6, "{count} options");
}

#[test]
fn every_report_has_format_and_json() {
    let program = program();
    let with_output: BTreeSet<&str> = outputs::options_of(&program).map(|(command, _)| command).collect();
    let mut without = Vec::new();
    for command in program.get_subcommands() {
        let name = command.get_name();
        let option = |long: &str| command.get_arguments().find(|option| option.get_long() == Some(long));
        let Some(format) = option("format") else {
            assert!(option("json").is_none() && option("csv").is_none(), "{name}: use FormatArguments");
            without.extend((!with_output.contains(name)).then_some(name));
            continue;
        };
        let values = format.get_possible_values();
        let known: Vec<_> = Format::value_variants().iter().filter_map(ValueEnum::to_possible_value).collect();
        assert!(values.iter().all(|value| known.contains(value)), "{name}: use Format");
        // The manual is a document.
        assert_eq!(option("json").is_some(), name != "man", "{name}");
        let writes = |form: &str| values.iter().any(|value| value.get_name() == form);
        assert!(writes("json") || name == "man", "{name}");
        assert!(writes("table") || ["man", "metadata"].contains(&name), "{name}");
        for form in ["ndjson", "csv"] {
            assert_eq!(option(form).is_some(), writes(form), "{name} --{form}");
        }
    }
    without.sort_unstable();
    assert_eq!(without, WITHOUT_FORMAT.map(|(name, _)| name));
}
