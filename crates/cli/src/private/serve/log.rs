//! The log of a server: a line of JSON for each run.

use std::{
    fs::{File, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result};
use serde::Serialize;

/// A file to which lines are appended, each at once.
pub(super) struct RunLog {
    path: PathBuf,
    file: Mutex<File>,
}

/// A run that has ended. Unknown numbers of a failed run are missing.
#[derive(Debug, Serialize)]
pub(super) struct LoggedRun {
    /// When it ended, in UTC.
    pub(super) time: String,
    /// The folder of keys, as it was named.
    pub(super) folder: String,
    /// The number of the run, if the folder has many.
    pub(super) run: Option<u32>,
    /// SHA-256 of the client's certificate, in hexadecimal.
    pub(super) client: String,
    pub(super) model: String,
    /// Inputs, images for instance.
    pub(super) images: usize,
    /// Wall time from the connection on.
    pub(super) seconds: f64,
    pub(super) sent_bytes: Option<u64>,
    pub(super) received_bytes: Option<u64>,
    pub(super) rounds: Option<u64>,
    /// `ok`, or why it failed.
    pub(super) outcome: String,
}

impl RunLog {
    /// Opens a log, which is made if it does not exist. Only its owner may read a new one.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).with_context(|| format!("opening {}", path.display()))?;
        Ok(Self { path: path.to_owned(), file: Mutex::new(file) })
    }

    /// Appends a line.
    pub(super) fn append(&self, run: &LoggedRun) -> Result<()> {
        let mut line = serde_json::to_vec(run)?;
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line).with_context(|| format!("writing the log {}", self.path.display()))
    }
}

/// The time, such as `2026-11-29T16:30:07Z`.
pub(super) fn now() -> String {
    utc(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()))
}

/// The date and the time of day in UTC, `seconds` after the beginning of 1970.
///
/// Source: Howard Hinnant, chrono-Compatible Low-Level Date Algorithms, `civil_from_days`. Years
/// begin in March there, so that the leap day is the last one.
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = 400 * era + year + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // From `date -u -d @SECONDS`.
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(seconds), expected);
        }
    }
}
