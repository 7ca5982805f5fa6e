//! Prints arbitrary bytes in every report. No text of the input controls a terminal or is invisible.

#![no_main]

use fatbin::check::Policy;
use fatbin::scan::{FilePath, Scan};
use fatbin::target::Device;
use fatbin::{Limits, View};
use fatbin_cli::report;
use fatbin_core::image::{Demangler, inspect};
use fatbin_fuzz::{budget, check_text, fuzz_target};
use fatbin_ops::analyze::inspect::InspectedImage;
use fatbin_ops::analyze::select::AnsweredFile;
use fatbin_ops::analyze::survey::{ImageSurvey, Survey};
use fatbin_ops::check::proof_status::ProofStatus;
use fatbin_ops::check::rules::{CheckedFile, check};

const POLICY: &str = "must-hold = [\"nothing*\"]\n[archs]\nforbid = [\"gfx906\"]\nrequire = [\"sm_70\"]\n[images]\nintact = true\n\
    debug = \"none\"\nregistered = true\nduplicates = false\nproven = true\ncompressed = true\n[sizes]\ntotal = \"1 kB\"\nfile = \"10 B\"\n";

fuzz_target!(|data: &[u8]| {
    let budget = budget(data);
    let Ok(scan) = Scan::new(View::with_budget(data, &budget)) else { return };
    let mut file = scan.file().clone();
    // The path may be of an archive that is as hostile as its members.
    file.path = FilePath::parse(&String::from_utf8_lossy(&data[..data.len().min(64)]));
    let screen = report::Screen::default();
    check_text(&report::table(&file, true, &screen));
    check_text(&report::json(std::slice::from_ref(&file)));

    let inspections: Vec<_> = scan
        .images()
        .map(|image| image.bytes().map(|bytes| inspect(image.image_kind, bytes.view(), &Demangler::default())).ok())
        .collect();
    let images: Vec<InspectedImage<'_>> = file
        .device_images()
        .zip(&inspections)
        .enumerate()
        .filter_map(|(number, (image, inspection))| {
            Some(InspectedImage { number, image, inspection: inspection.clone()? })
        })
        .collect();
    for image in &images {
        check_text(&report::inspection_table(&file.path, image, &screen));
    }
    let mut document = report::InspectionDocument::new();
    document.begin_file(&file);
    for image in &images {
        document.image(&report::image_json(&file, image));
    }
    document.end_file(&file);
    document.end();
    check_text(&document.take());

    let devices = Device::parse("gfx90a").expect("a device");
    let answered = AnsweredFile::new(&file, &devices);
    check_text(&report::blocks(&report::selection_lists(&answered, "gfx90a", &screen), &screen));
    check_text(&report::selection_json("gfx90a", None, &devices, &[(answered, Vec::new())], &[]));

    let image_surveys = inspections.into_iter().map(|inspection| ImageSurvey { inspection, ..ImageSurvey::default() });
    let survey =
        Survey { image_surveys: image_surveys.collect(), file, host: None, packed: None, limits: Limits::default() };
    let inputs = vec![survey.file.path.to_string()];
    let policy = Policy::parse("policy.toml", POLICY).expect("a policy");
    let verdict = check(
        &policy,
        inputs,
        [CheckedFile {
            survey: survey.clone(),
            input: 0,
            proof: ProofStatus::default(),
            package: None,
            promise: None,
            assemblies: None,
            metadata: None,
            sha256: None,
            required: None,
        }],
    );
    check_text(&report::verdict_text(&verdict, true, &screen));
    check_text(&verdict.to_json());
    let mut components = report::Components::default();
    components.add(&survey.file).expect("a temporary file");
    let mut text = String::new();
    report::verdict_junit(&verdict, &mut |part| text += part);
    report::verdict_sarif(&verdict, &mut |part| text += part);
    report::verdict_cyclonedx(&verdict, components, &mut |part| text += part).expect("a temporary file");
    check_text(&text);
    let sizes = report::CodeSizes::of_files([&survey.file].into_iter());
    check_text(&report::verdict_markdown(&verdict, &sizes, Some(&report::CodeSizes::default())));
});
