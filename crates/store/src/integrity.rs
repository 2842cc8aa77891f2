//! The seal of a bundle: its manifest holds the hash of every other file, so that a change can be seen.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use kneepoint_model::bundle::{self, Manifest};
use sha2::{Digest, Sha256};

/// A file that is not what the manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Name of the file.
    pub file: String,
    /// SHA-256 found, in hex; `None` if the file cannot be read.
    pub found: Option<String>,
}

/// The files that differ from what the manifest was sealed with; empty for a manifest that was never sealed.
pub fn mismatches(directory: &Path, manifest: &Manifest) -> Vec<Mismatch> {
    let files = manifest.sha256.iter().map(|(name, sealed)| (name, sealed, hash(&directory.join(name)).ok()));
    files
        .filter(|(_, sealed, found)| found.as_ref() != Some(*sealed))
        .map(|(name, _, found)| Mismatch { file: name.clone(), found })
        .collect()
}

/// Why a bundle could not be completed.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// A file could not be written.
    #[error("could not write `{path}`")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file that the seal covers could not be read.
    #[error("could not read `{path}`")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Writes a whole file of a bundle or none of it.
pub fn write(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), SealError> {
    let path = directory.join(name);
    let temporary = directory.join(format!(".{name}.part"));
    fs::write(&temporary, bytes)
        .and_then(|()| fs::rename(&temporary, &path))
        .map_err(|source| SealError::Write { path, source })
}

/// Writes the manifest for good: with the hash of every file, reports excepted, since they can be made anew.
pub fn seal(directory: &Path, mut manifest: Manifest) -> Result<Manifest, SealError> {
    let sealed =
        [bundle::PLAN, bundle::ENVIRONMENT, bundle::POINTS, bundle::REQUESTS, bundle::TELEMETRY, bundle::SUMMARY];
    for name in sealed {
        let path = directory.join(name);
        let hash = hash(&path).map_err(|source| SealError::Read { path, source })?;
        manifest.sha256.insert(name.to_owned(), hash);
    }
    let mut text = serde_json::to_vec_pretty(&manifest).expect("invariant: a manifest serialises");
    text.push(b'\n');
    write(directory, bundle::MANIFEST, &text)?;
    Ok(manifest)
}

/// SHA-256 of a file, in hex.
fn hash(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            n => hasher.update(&buffer[..n]),
        }
    }
    Ok(hex(&hasher.finalize()))
}

/// SHA-256 of bytes, in hex.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(digest: &[u8]) -> String {
    let mut text = String::with_capacity(2 * digest.len());
    for byte in digest {
        let _ = write!(text, "{byte:02x}"); // a String takes every write
    }
    text
}
