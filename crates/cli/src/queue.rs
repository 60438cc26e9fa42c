//! The queue of a command.

use anyhow::Result;
use runtime::{AnyQueue, Choice, Domain, OpenError, Settings};

use crate::exit::note;

/// Opens the queue that the arguments and the environment ask for. If it is another one, standard error says why.
pub(crate) fn open(domain: Domain, backend: Option<Choice>) -> Result<AnyQueue> {
    let settings = Settings::from_env().map_err(OpenError::from)?;
    let (queue, status) = runtime::open_with(&settings, Some(domain), backend)?;
    if status.fallback.is_some() {
        note(&format!("backend: {status}\n"))?;
    }
    Ok(queue)
}
