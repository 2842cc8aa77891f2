//! The vendored chart library is the published one.

use std::fs;
use std::path::Path;

use sha2::{Digest as _, Sha256};

#[test]
fn files_have_the_checksums_written_down() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vendor/echarts");
    let sums = fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    let mut names = Vec::new();
    for line in sums.lines() {
        let (wanted, name) = line.split_once("  ").unwrap();
        let found = Sha256::digest(fs::read(folder.join(name)).unwrap())
            .iter()
            .fold(String::new(), |hex, b| format!("{hex}{b:02x}"));
        assert_eq!(found, wanted, "{name}");
        names.push(name.to_owned());
    }
    for needed in ["echarts.common.min.js", "LICENSE", "NOTICE"] {
        assert!(names.iter().any(|n| n == needed), "{needed} has no checksum");
    }
    let library = fs::read_to_string(folder.join("echarts.common.min.js")).unwrap();
    assert!(library.len() < 1_100_000 && !library.contains("</script"), "must be small and stand inside a script");
}
