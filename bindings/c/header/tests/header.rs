//! The header agrees with the sources. With FATBIN_UPDATE_HEADER=1 in the environment, it is written.

use std::path::Path;

#[test]
fn header_describes_the_library() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let path = package.join("include/fatbin.h");
    let mut bytes = Vec::new();
    cbindgen::generate(package).unwrap().write(&mut bytes);
    let generated = String::from_utf8(bytes).unwrap();
    if std::env::var("FATBIN_UPDATE_HEADER").as_deref() == Ok("1") {
        std::fs::write(&path, &generated).unwrap();
    }
    let header = std::fs::read_to_string(&path).unwrap();
    assert!(header == generated, "{} is outdated: run the test with FATBIN_UPDATE_HEADER=1", path.display());
}
