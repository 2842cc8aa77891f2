//! JSON lines in independent zstd frames, read to the last whole frame.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use zstd::zstd_safe;

/// How much of the file is read at once; a frame of ours is smaller unless a single record is huge.
const CHUNK: usize = 1 << 20;
/// A frame that unpacks to more than this is not one of ours: it would only fill memory.
const LARGEST_FRAME: u64 = 1 << 30;

/// Why a journal could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadJournalError {
    /// The file could not be opened or read.
    #[error("could not read `{path}`")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A whole line is not what this version understands: the file is of another kind or version, or was changed.
    #[error("line {line} of `{path}` is not a line this version understands")]
    Line {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
}

/// The lines of a journal, in the order in which they were written.
///
/// Ends where the file ends or stops being readable; [`Lines::lost_bytes`] then tells how much of it was of no use.
/// Holds one frame in memory at a time.
#[derive(Debug)]
pub struct Lines<T> {
    path: PathBuf,
    file: File,
    /// Bytes read from the file and not yet taken as a frame.
    raw: Vec<u8>,
    at_end: bool,
    lost: u64,
    unpacked: VecDeque<String>,
    line: u64,
    of: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Lines<T> {
    /// Opens a journal.
    pub fn open(path: &Path) -> Result<Self, ReadJournalError> {
        let file = File::open(path).map_err(|source| ReadJournalError::Io { path: path.to_owned(), source })?;
        Ok(Self {
            path: path.to_owned(),
            file,
            raw: Vec::new(),
            at_end: false,
            lost: 0,
            unpacked: VecDeque::new(),
            line: 0,
            of: PhantomData,
        })
    }

    /// Bytes at the end of the file that are no whole frame; known once the iterator has ended.
    pub fn lost_bytes(&self) -> u64 {
        self.lost
    }

    /// Unpacks what is left without looking at the lines, and tells how many bytes are no whole frame.
    pub(crate) fn count_lost(mut self) -> Result<u64, ReadJournalError> {
        while self.next_frame().map_err(|source| ReadJournalError::Io { path: self.path.clone(), source })? {}
        Ok(self.lost)
    }

    /// Unpacks the next frame; `false` at the end.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            if !self.raw.is_empty()
                && let Ok(size) = zstd_safe::find_frame_compressed_size(&self.raw)
            {
                let Some(text) = unpack(&self.raw[..size]) else { return self.give_up() };
                self.raw.drain(..size);
                self.unpacked = text.lines().map(str::to_owned).collect();
                if !self.unpacked.is_empty() {
                    return Ok(true);
                }
                continue;
            }
            if self.at_end {
                return self.give_up();
            }
            let read = (&mut self.file).take(CHUNK as u64).read_to_end(&mut self.raw)?;
            self.at_end = read == 0;
        }
    }

    /// What is left cannot be unpacked: counts it and ends.
    fn give_up(&mut self) -> io::Result<bool> {
        let unread = io::copy(&mut self.file, &mut io::sink())?;
        self.lost += self.raw.len() as u64 + unread;
        self.raw.clear();
        self.at_end = true;
        Ok(false)
    }
}

fn unpack(frame: &[u8]) -> Option<String> {
    let size = zstd_safe::get_frame_content_size(frame).ok().flatten().filter(|size| *size <= LARGEST_FRAME)?;
    let bytes = zstd::bulk::decompress(frame, usize::try_from(size).ok()?).ok()?;
    String::from_utf8(bytes).ok()
}

impl<T: DeserializeOwned> Iterator for Lines<T> {
    type Item = Result<T, ReadJournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.unpacked.is_empty() {
            match self.next_frame() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(source) => {
                    self.at_end = true;
                    self.raw.clear();
                    return Some(Err(ReadJournalError::Io { path: self.path.clone(), source }));
                }
            }
        }
        let text = self.unpacked.pop_front()?;
        self.line += 1;
        Some(serde_json::from_str(&text).map_err(|source| ReadJournalError::Line {
            path: self.path.clone(),
            line: self.line,
            source,
        }))
    }
}
