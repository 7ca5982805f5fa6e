//! `fatbin check`.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;

use super::Status;
use super::asked::AskedArgs;
use super::failure::{Context, Result, coded};
use super::format::{Format, FormatArguments, among};
use super::headings::{JUDGEMENT, OUTPUT};
use super::inputs::InputArguments;
use super::limit::LimitArguments;
use super::locking::read_lock;
use super::outputs::{ForceArgument, OutputArgument};
use super::problems::Problems;
use super::proofs::Proofs;
use super::scan_arguments::ScanArguments;
use super::session::Session;
use crate::codes;
use crate::report::{self, CodeSizes, Components, Page, Screen};
use fatbin_core::base::code::Code;
use fatbin_core::base::error::Error;
use fatbin_core::base::escape::escape;
use fatbin_core::base::io::{Access, Input, Output, OutputKind, OutputPath};
use fatbin_core::scan::{CacheBudget, Options, Outcome};
use fatbin_core::target::nvptx::NEWEST;
use fatbin_ops::analyze::survey::{Survey, SurveyOptions};
use fatbin_ops::check::asked::Asked;
use fatbin_ops::check::paths::Checker;
use fatbin_ops::check::ptx_assembler::PtxAssembler;
use fatbin_ops::check::{self, Check, CheckedFile, Policy, Verdict};

/// Check device code against a policy: archs, kernels, sizes
///
/// A policy is a TOML file: --init generates one from a known-good build, `fatbin schema policy` documents all keys.
/// Every file is checked separately, and an input without device code is a violation.
///
/// Exit status: 0 if all requirements are met, 1 if one is violated, 2 if one cannot be decided or for trouble.
#[derive(Args)]
#[command(mut_arg("format", |option| option.value_parser(among(FORMATS))))]
pub struct Arguments {
    /// The policy, a TOML file [default: gpu.toml in the working directory, or the nearest directory above]
    #[arg(long, value_name = "POLICY", help_heading = JUDGEMENT)]
    policy: Option<PathBuf>,

    #[command(flatten)]
    asked: AskedArgs,

    /// Generate a policy from known-good files and print it
    #[arg(help_heading = OUTPUT, long, conflicts_with_all = ["policy", "format", "json"])]
    init: bool,

    /// With --init, also write the schema of policies to PATH, and name it in the policy: editors check and complete
    /// keys
    #[arg(long, value_name = "PATH", conflicts_with = "policy", help_heading = OUTPUT)]
    schema: Option<OutputArgument>,

    #[command(flatten)]
    format: FormatArguments,

    /// Also write an HTML page with findings, sizes, kernels by arch and tables; it loads nothing
    #[arg(long, value_name = "OUT.html", conflicts_with = "init", help_heading = OUTPUT)]
    html: Option<OutputArgument>,

    #[command(flatten)]
    force: ForceArgument,

    /// Lock, file or directory of another build, whose sizes the Markdown report is compared with
    #[arg(long, value_name = "PATH", conflicts_with = "init", help_heading = JUDGEMENT)]
    baseline: Option<PathBuf>,

    /// Proof of a change, as --proof of prune, strip, transcode and replace writes it; repeatable
    ///
    /// With images.proven = true in the policy, files must be the outputs of these changes.
    #[arg(long, value_name = "PROOF.json", conflicts_with = "init", help_heading = JUDGEMENT)]
    proof: Vec<PathBuf>,

    /// Assemble PTX with NVIDIA's ptxas at PATH, for the devices of the policy that depend on it, else for its own arch
    ///
    /// Without --policy, it is the whole policy.
    #[arg(long, value_name = "PATH", conflicts_with = "init", help_heading = JUDGEMENT)]
    ptxas: Option<PathBuf>,

    #[command(flatten)]
    scan: ScanArguments,
}

/// Formats of the report.
const FORMATS: &[Format] = &[
    Format::Table,
    Format::Json,
    Format::Junit,
    Format::Sarif,
    Format::Markdown,
    Format::Github,
    Format::Gitlab,
    Format::Cyclonedx,
];

pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let other_inputs =
        arguments.policy.iter().chain(&arguments.baseline).chain(&arguments.proof).chain(&arguments.ptxas);
    let set = arguments.force.files(other_inputs.map(PathBuf::as_path));
    let mut inputs = arguments.scan.inputs;
    inputs.add_to(&set);
    let output = |path: Option<OutputArgument>| {
        path.map(|path| Ok::<_, Error>((set.output(path.path(), OutputKind::Text)?, path))).transpose()
    };
    let schema = output(arguments.schema)?;
    let page = output(arguments.html)?;
    let inputs = inputs.with_listed()?;
    let problems = arguments.scan.problems.problems(session);
    if arguments.init {
        return init(&inputs, &arguments.scan.limits, schema, &problems);
    }
    check_no_policy_among(&inputs)?;
    let asked = arguments.asked.asked()?;
    let is_only_asked = asked.is_some() && arguments.policy.is_none();
    let policy = policy(arguments.policy.as_deref(), asked, arguments.ptxas.is_some())?;
    let assembler = arguments.ptxas.as_deref().map(assembler).transpose()?;
    if let Some(entry) = policy.assumed_release() {
        let (major, minor) = NEWEST;
        problems.warn(anyhow!(
            "{entry} depends on the release of nvcc, CUDA {major}.{minor} is assumed; specify --asked-cuda, or archs.asked-cuda in the policy"
        ));
    }
    let proofs = Proofs::read(&arguments.proof)?;
    if !arguments.proof.is_empty() && !policy.all_requirements().any(|it| it.proven == Some(true)) {
        problems.warn(anyhow!("{}: --proof has no effect; set images.proven = true", policy.path));
    }
    let format = arguments.format.format();
    if arguments.baseline.is_some() && format != Format::Markdown {
        problems.warn(anyhow!("--baseline has no effect; use --format markdown"));
    }
    let options = Options::default().with_hash(format == Format::Cyclonedx);
    // The page shows kernels even if the policy does not require them.
    let checker = Checker::new(&policy, options).inspect_all(page.is_some()).with_assembler(assembler.as_ref());
    let mut check = Check::new(&policy, inputs.names());
    // These formats list no checks that pass.
    let is_short = matches!(format, Format::Table | Format::Sarif | Format::Markdown | Format::Github | Format::Gitlab);
    if page.is_none() && is_short {
        check = check.counting();
    }
    let mut document = page.as_ref().map(|_| Page::new());
    let mut components = Components::default();
    let mut added = Ok(());
    let mut sizes = CodeSizes::default();
    analyze(&inputs, &checker, &proofs, arguments.scan.limits, &problems, &mut |file| {
        if format == Format::Markdown {
            sizes.add(&file.survey.file);
        }
        if format == Format::Cyclonedx && added.is_ok() {
            added = components.add(&file.survey.file);
        }
        let needs_copy = document.is_some() && policy.needs_whole_files();
        let copy = if needs_copy { Some(file.survey.clone()) } else { None };
        if let (Some(survey), Some(document)) = (check.add(file).or(copy), &mut document) {
            document.add(survey);
        }
    })?;
    added?;
    let mut verdict = check.finish();
    codes::complete(&mut verdict);
    if is_only_asked {
        session.record_reason("the build lacks what was asked for");
    }
    if let (Some((path, _)), Some(document)) = (page, document) {
        document.write(path, Some(&verdict), session.access())?;
    }
    let before = if format == Format::Markdown { arguments.baseline.as_deref() } else { None };
    let before = before.map(|path| baseline_sizes(path, arguments.scan.limits, &problems)).transpose()?;
    let screen = if format == Format::Table { session.screen() } else { Screen::default() };
    let mut read = Ok(());
    session.print_parts(&screen, |write| match format {
        Format::Json => verdict.write_json(write),
        Format::Junit => report::verdict_junit(&verdict, write),
        Format::Sarif => report::verdict_sarif(&verdict, write),
        Format::Markdown => write(&report::verdict_markdown(&verdict, &sizes, before.as_ref())),
        Format::Github => report::verdict_github(&verdict, write),
        Format::Gitlab => report::verdict_gitlab(&verdict, write),
        Format::Cyclonedx => read = report::verdict_cyclonedx(&verdict, components, write),
        _ => {
            // A policy that was found states where it is.
            if arguments.policy.is_none() && policy.path != COMMAND_LINE {
                write(&format!("policy: {}\n", policy.path));
            }
            write(&report::verdict_text(&verdict, arguments.scan.problems.is_verbose(), &screen));
        }
    })?;
    read?;
    Ok(status_of(&verdict))
}

/// Name of the policy that consists of options.
const COMMAND_LINE: &str = "command line";

/// Returns the policy. If a list or ptxas is given without a policy, they are the policy, regardless of the directory.
fn policy(path: Option<&Path>, asked: Option<Asked>, assembles_ptx: bool) -> Result<Policy> {
    let policy = match path {
        Some(path) => read_policy(path)?,
        None if asked.is_some() || assembles_ptx => Policy::parse(COMMAND_LINE, "")?,
        None => read_policy(&find_policy()?)?,
    };
    let policy = if assembles_ptx { policy.assembling_ptx() } else { policy };
    Ok(match asked {
        Some(asked) => policy.asking_for(asked),
        None => policy,
    })
}

fn assembler(program: &Path) -> Result<PtxAssembler> {
    if !program.is_file() {
        return Err(coded(Code::InvalidValue, format!("--ptxas: {}: no such program", program.display())));
    }
    PtxAssembler::new(program).context("cannot create a directory for temporary files")
}

/// Name of policies that are found without an option.
const POLICY_NAME: &str = "gpu.toml";

/// Returns the policy of the nearest directory above the working directory that has one.
fn find_policy() -> Result<PathBuf> {
    let directory = std::env::current_dir().context("cannot read the working directory")?;
    let mut relative = PathBuf::new();
    for directory in directory.ancestors() {
        if directory.join(POLICY_NAME).is_file() {
            return Ok(relative.join(POLICY_NAME));
        }
        relative.push("..");
    }
    let message = "no policy; specify --policy or --asked, or write one with fatbin check --init FILE > gpu.toml";
    Err(coded(Code::MissingArgument, message))
}

/// Reports a policy in the place of an input.
fn check_no_policy_among(inputs: &InputArguments) -> Result<()> {
    let is_toml =
        |name: &&String| Path::new(name).extension().is_some_and(|it| it == "toml") && Path::new(name).is_file();
    match inputs.names().iter().find(is_toml) {
        Some(name) => {
            let message = format!("{name}: is a policy and no input; specify --policy {name}");
            Err(coded(Code::InvalidValue, message))
        }
        None => Ok(()),
    }
}

/// Reads the sizes of another build from a lock, or from the files at a path.
fn baseline_sizes(path: &Path, limits: LimitArguments, problems: &Problems) -> Result<CodeSizes> {
    if let Some(lock) = read_lock(path, &limits)? {
        return Ok(CodeSizes::of_lock(&lock));
    }
    let mut sizes = CodeSizes::default();
    let mut failed = None;
    InputArguments::single(path.to_owned()).scan(
        &limits.scanner(problems.session(), Options::default()),
        problems,
        &mut |outcome| {
            let (file, error) = outcome.into_file();
            failed = failed.take().or(error);
            sizes.add(&file);
        },
    )?;
    failed.map_or_else(|| Ok(sizes), |error| Err(error.into()))
}

/// Returns the exit status for a verdict.
pub fn status_of(verdict: &Verdict) -> Status {
    match verdict.outcome() {
        check::Outcome::Passed | check::Outcome::Warned => Status::Yes,
        check::Outcome::Violated => Status::No,
        check::Outcome::Undecided => Status::Trouble,
    }
}

fn init(
    inputs: &InputArguments,
    limits: &LimitArguments,
    schema: Option<(OutputPath, OutputArgument)>,
    problems: &Problems,
) -> Result<Status> {
    let wanted =
        SurveyOptions { inspection: true, without_kernels: true, build_paths: true, ..SurveyOptions::default() };
    let scanner = limits.scanner(problems.session(), Options::default()).with_cache(CacheBudget::default());
    let analyze = |_, outcome| Survey::of_outcome(outcome, &|_| wanted, &mut |_| ());
    let mut files: Vec<Survey> = Vec::new();
    inputs.scan_and(&scanner, problems, &analyze, &mut |(file, error)| {
        if let Some(error) = error {
            problems.report(error);
        }
        files.push(file);
    })?;
    // Errors of unreadable files are already reported.
    if files.iter().any(|analyzed| analyzed.file.is_incomplete()) {
        return Ok(Status::Trouble);
    }
    let Some(policy) = check::generate_policy(&files.iter().collect::<Vec<_>>()) else {
        problems.session().record_reason("no device code; no policy was generated");
        return Ok(Status::No);
    };
    let directive = schema.map(write_schema).transpose()?.unwrap_or_default();
    problems.session().print(&(directive + &policy))?;
    Ok(Status::Yes)
}

/// Writes the policy schema. Returns the comment that points editors to it, with a path relative to the policy or an
/// absolute path.
fn write_schema((place, path): (OutputPath, OutputArgument)) -> Result<String> {
    let path = path.path();
    Output::of_bytes(place, report::schema("policy").as_bytes())?;
    let name = path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    let directory = if path.is_absolute() || name.starts_with('.') { "" } else { "./" };
    Ok(format!("#:schema {directory}{}\n", escape(&name)))
}

/// Checks a file.
pub fn check_file(path: &Path, policy: &Policy, limits: LimitArguments, session: &Session) -> Result<Verdict> {
    let inputs = InputArguments::single(path.to_owned());
    let checker = Checker::new(policy, Options::default());
    let mut check = Check::new(policy, inputs.names()).counting();
    let problems = Problems::new(session, false);
    analyze(&inputs, &checker, &Proofs::default(), limits, &problems, &mut |file| drop(check.add(file)))?;
    Ok(check.finish())
}

/// Scans and analyzes files, compares them with proofs if the policy requires it, and reports their errors.
fn analyze(
    inputs: &InputArguments,
    checker: &Checker<'_>,
    proofs: &Proofs,
    limits: LimitArguments,
    problems: &Problems,
    take: &mut dyn FnMut(CheckedFile),
) -> Result<()> {
    let scanner = checker.scanner(limits.scanner(problems.session(), checker.scan_options()));
    let access = problems.session().access();
    let analyze = |input, outcome: Outcome| {
        let outermost = outcome.outermost().map(Path::to_owned);
        let (mut file, error) = checker.analyze(input, outcome);
        if checker.requires_proof(&file) {
            file.proof = proofs.compare(outermost.as_deref(), access);
        }
        (file, error)
    };
    inputs.scan_and(&scanner, problems, &analyze, &mut |(file, error)| {
        if let Some(error) = error {
            problems.report(error);
        }
        take(file);
    })
}

/// Reads a policy.
pub fn read_policy(path: &Path) -> Result<Policy> {
    let input = Input::open_any(path, Access::read())?;
    let text = std::str::from_utf8(input.view().data()).with_context(|| format!("{}: not UTF-8", path.display()))?;
    Ok(Policy::parse(&path.to_string_lossy(), text)?)
}
