//! The lines of JSON with which a part reports what happens.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

use anyhow::{Context as _, Result};
use serde::Serialize;

/// The path that means standard output.
pub(crate) const STDOUT: &str = "-";

/// Events as lines of JSON; each is written out before the next one happens.
pub(crate) struct Events {
    /// Nowhere, if no path is given.
    out: Option<Box<dyn Write>>,
    name: String,
}

impl Events {
    /// Begins the file, or goes to standard output for `-`.
    pub(crate) fn begin(path: Option<&Path>) -> Result<Self> {
        let name = path.map(|path| path.display().to_string()).unwrap_or_default();
        let out: Option<Box<dyn Write>> = match path {
            None => None,
            Some(_) if name == STDOUT => Some(Box::new(io::stdout())),
            Some(path) => Some(Box::new(File::create(path).with_context(|| format!("writing {name}"))?)),
        };
        Ok(Self { out, name })
    }

    /// Whether they go to standard output, which then holds nothing else.
    pub(crate) fn are_on_stdout(&self) -> bool {
        self.name == STDOUT
    }

    /// Reports an event.
    pub(crate) fn tell(&mut self, event: &impl Serialize) -> Result<()> {
        let Some(out) = &mut self.out else { return Ok(()) };
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        out.write_all(&line).and_then(|()| out.flush()).with_context(|| format!("writing {}", self.name))
    }
}
