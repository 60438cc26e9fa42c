//! The lines of JSON with which a part reports what happens.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

use anyhow::{Context as _, Result};
use serde::Serialize;

/// Events as lines of JSON; each is written out before the next one happens.
pub(crate) struct Events {
    out: Box<dyn Write>,
    name: String,
}

impl Events {
    /// Whether this path means standard output, which then holds nothing else.
    pub(crate) fn is_stdout(path: Option<&Path>) -> bool {
        path.is_some_and(|path| path == Path::new("-"))
    }

    /// Begins the file, or goes to standard output for `-`.
    pub(crate) fn begin(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let out: Box<dyn Write> = if Self::is_stdout(Some(path)) {
            Box::new(io::stdout())
        } else {
            Box::new(File::create(path).with_context(|| format!("writing {name}"))?)
        };
        Ok(Self { out, name })
    }

    /// Reports an event.
    pub(crate) fn tell(&mut self, event: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.out.write_all(&line).and_then(|()| self.out.flush()).with_context(|| format!("writing {}", self.name))
    }
}
