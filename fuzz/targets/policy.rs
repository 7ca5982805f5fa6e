//! Reads arbitrary text as a policy, and applies it to a path. The path follows the policy after a NUL.

#![no_main]

use fatbin::check::Policy;
use fatbin::scan::FilePath;
use fatbin_fuzz::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (text, path) = text.split_once('\0').unwrap_or((text, "lib/libanswer.so"));
    let policy = match Policy::parse("policy.toml", text) {
        Ok(policy) => policy,
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with("policy.toml"), "{message}");
            fatbin_fuzz::check_text(&message);
            return;
        }
    };
    let path = &FilePath::parse(path);
    let is_skipped = policy.skips(path);
    assert_eq!(policy.skips(path), is_skipped);
    let options = policy.survey_options(path);
    assert!(!(is_skipped && options.any()), "a skipped file is not analyzed");
    let _ = policy.requirements_for(path);
});
