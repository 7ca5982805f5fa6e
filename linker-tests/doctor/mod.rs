//! `fatbin doctor`, compared with real links of device sections of more than 2 GiB: it predicts exactly the links that
//! fail.
//!
//! Objects of compilers show the other problems, see [`compilers`]. Device sections are holes in sparse objects.
//! Outputs have gigabytes, and are removed at once.

mod compilers;
mod objects;
mod remedies;

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::command::command;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Linker, Tool};
use crate::harness::trial::{completion, fresh_directory};
use objects::{Image, compile_program, write_image};

/// Form of an output.
#[derive(Clone, Copy)]
struct Form {
    /// Option of the link.
    link: &'static str,
    /// Options of the compilation.
    compile: &'static [&'static str],
    /// Objects: the program's and a device section. The order decides on the layout of lld.
    objects: [&'static str; 2],
    /// Linkers that can link it.
    links: &'static [Linker],
    /// Linkers that cannot.
    fails: &'static [Linker],
}

use Linker::{Bfd, Gold, Lld, Mold};

/// A position-independent executable of the small model. mold links it, see [`mold_truncates`].
const SMALL: Form = Form {
    link: "-pie",
    compile: &["-fPIE"],
    objects: ["program.o", "orphan.o"],
    links: &[],
    fails: &[Bfd, Gold, Lld],
};

/// The same with a device section that the compiler or `fatbin wrap` marked as large.
const LARGE: Form = Form { objects: ["program.o", "large.o"], links: &[Gold, Mold], fails: &[], ..SMALL };

/// Links. By hand, 110 more combinations of linker, form, model, name and order were predicted correctly: GNU ld 2.40,
/// gold 1.16, lld 22, mold 1.10.1; small, medium and large model; orphans, `.rodata`, `.ldata`, and sections with the
/// flag or the name alone.
const FORMS: [(&str, Form); 6] = [
    ("pie", SMALL),
    ("no-pie", Form { link: "-no-pie", compile: &["-fno-pie"], fails: &[Bfd, Lld, Mold], ..SMALL }),
    // lld places constants after the device section, where code reaches them.
    (
        "shared-first",
        Form { link: "-shared", compile: &["-fPIC"], objects: ["orphan.o", "program.o"], links: &[Lld], fails: &[Bfd] },
    ),
    // The start files are of the small model.
    ("large-model", Form { compile: &["-fPIE", "-mcmodel=large"], links: &[Lld], fails: &[Gold], ..SMALL }),
    ("large-section", LARGE),
    (
        "large-section-no-pie",
        Form { link: "-no-pie", compile: &["-fno-pie"], links: &[Bfd], fails: &[Lld, Mold], ..LARGE },
    ),
];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (name, form) in FORMS {
        for &linker in form.links.iter().chain(form.fails) {
            trials.push(trial(format!("{name}/{}", linker.name()), move |directory| predicts(directory, linker, form)));
        }
    }
    for linker in [Bfd, Lld] {
        trials.push(trial(format!("script/{}", linker.name()), move |directory| script_mends(directory, linker)));
    }
    trials.push(trial("truncated-unwind-tables".to_owned(), mold_truncates));
    trials.push(trial("openmp".to_owned(), compilers::openmp));
    trials.push(trial("module-ids".to_owned(), compilers::module_ids));
    trials.push(trial("relocatable-cuda".to_owned(), compilers::relocatable_cuda));
    trials.push(trial("tile-kernels".to_owned(), compilers::tile_kernels));
    trials.extend(remedies::trials());
    trials
}

/// Returns a trial whose files are removed at its end.
fn trial(name: String, run: impl Fn(&Path) -> Result<()> + Send + 'static) -> Trial {
    Trial::ignorable_test(format!("doctor/{name}"), move || {
        completion(fresh_directory("doctor", &name.replace('/', "-")).and_then(|directory| {
            let result = run(&directory);
            std::fs::remove_dir_all(&directory)?;
            result
        }))
    })
}

/// Words of a link.
fn line(linker: Linker, form: Form) -> Result<Vec<String>> {
    let mut line = vec![Tool::Cxx.path()?.display().to_string()];
    line.extend(linker.cc_flags()?);
    line.extend([form.link, form.objects[0], form.objects[1], "-o", "program"].map(str::to_owned));
    Ok(line)
}

/// Returns the document of a diagnosis, which must have an exit status.
fn diagnose(directory: &Path, options: &[&str], line: &[String]) -> Result<Value> {
    let mut command = command(fatbin_program());
    let output =
        command.current_dir(directory).args(["doctor", "--json"]).args(options).arg("--").args(line).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let document: Value = serde_json::from_str(&text)
        .with_context(|| format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)))?;
    let has_problems = document["problems"].as_array().is_some_and(|problems| !problems.is_empty());
    ensure!(output.status.code() == Some(i32::from(has_problems)), "{}: {text}", output.status);
    Ok(document)
}

/// Returns the effects of relocations that are out of reach.
fn effects(document: &Value) -> Vec<&str> {
    let problems = document["problems"].as_array().into_iter().flatten();
    let overflows = problems.filter(|problem| problem["kind"] == "relocation-overflow");
    overflows.filter_map(|problem| problem["effect"].as_str()).collect()
}

fn prepare(directory: &Path, form: Form) -> Result<()> {
    compile_program(directory, form.compile)?;
    write_image(directory, "orphan.o", Image { section: ".nv_fatbin", is_large: false })?;
    write_image(directory, "large.o", Image { section: ".lrodata.nv_fatbin", is_large: true })
}

/// The link fails if it is predicted to fail, and otherwise the program runs.
fn predicts(directory: &Path, linker: Linker, form: Form) -> Result<()> {
    prepare(directory, form)?;
    let line = line(linker, form)?;
    let document = diagnose(directory, &[], &line)?;
    ensure!(document["linker"] == linker.name(), "{}", document["linker"]);
    let predicted = effects(&document).contains(&"link-fails");
    let link = Step::new(directory, &line[0]).args(&line[1..]).run();
    ensure!(predicted == link.is_err(), "predicted: {predicted}\n{document:#}\n{:#?}", link.err());
    ensure!(link.is_ok() == form.links.contains(&linker), "{:#?}", link.err());
    match link {
        Err(error) => {
            let text = error.to_string();
            ensure!(["relocation", "overflow"].iter().any(|word| text.contains(word)), "{text}");
            Ok(())
        }
        Ok(_) if form.link == "-shared" => Ok(()),
        Ok(_) => Step::new(directory, directory.join("program")).run().map(drop),
    }
}

/// The script makes a link pass that fails without it, and the program catches exceptions.
fn script_mends(directory: &Path, linker: Linker) -> Result<()> {
    let forms = [("-no-pie", "-fno-pie"), ("-pie", "-fPIE")];
    // GNU ld writes holes as zeros, which takes long.
    for (form, compile) in forms.into_iter().skip(usize::from(linker == Bfd)) {
        compile_program(directory, &[compile])?;
        write_image(directory, "orphan.o", Image { section: ".nv_fatbin", is_large: false })?;
        let mut line = line(linker, Form { link: form, ..SMALL })?;
        let document = diagnose(directory, &["--script", "device.ld"], &line)?;
        ensure!(document["script"]["remaining"] == 0 && !effects(&document).is_empty(), "{document:#}");
        line.push("-Wl,-T,device.ld".to_owned());
        let document = diagnose(directory, &[], &line)?;
        ensure!(effects(&document).is_empty(), "{document:#}");
        Step::new(directory, &line[0]).args(&line[1..]).run()?;
        let run = Step::new(directory, directory.join("program")).arg("throw").run()?;
        ensure!(run.stdout == "caught\n", run.error("the exception is not caught"));
    }
    Ok(())
}

/// mold writes unwind tables that do not lead to the code, and reports nothing.
fn mold_truncates(directory: &Path) -> Result<()> {
    prepare(directory, SMALL)?;
    let line = line(Mold, SMALL)?;
    let document = diagnose(directory, &[], &line)?;
    let effects = effects(&document);
    ensure!(!effects.is_empty() && effects.iter().all(|effect| *effect == "broken-output"), "{document:#}");
    Step::new(directory, &line[0]).args(&line[1..]).run()?;
    Step::new(directory, directory.join("program")).run()?;
    if Step::new(directory, directory.join("program")).arg("throw").run().is_ok() {
        bail!("{}: mold's unwind tables lead to the code", directory.display());
    }
    Ok(())
}
