use core::fmt::Display;

use backend_api::{BackendKind, Queue, ops::fss::FssOps};
use thiserror::Error;

use super::{BatchConfig, BatchError, Choice, Stager, SuperBatch, held::Held, stager::Queues};
use crate::{Channel, PfssError, Session};

/// What a program can get hold of on its machine. Nothing is asked for that the choice does not need.
pub trait Platform {
    /// A queue of either kind.
    type Queue: FssOps;
    /// What copies to a device and from it.
    type Stager: Stager<Self::Queue>;
    /// The connection to the other party.
    type Channel: Channel;
    /// Why something cannot be had.
    type Error: Display;

    /// A queue on the host processor.
    ///
    /// # Errors
    /// Why there is none.
    fn host(&mut self) -> Result<Self::Queue, Self::Error>;

    /// A queue on a GPU.
    ///
    /// # Errors
    /// Why there is none: no driver, no device, kernels for another.
    fn device(&mut self) -> Result<Self::Queue, Self::Error>;

    /// A stager for a queue on a GPU; `None` if the program has none.
    ///
    /// # Errors
    /// Why it cannot be made.
    fn stager(&mut self, q: &Self::Queue) -> Result<Option<Self::Stager>, Self::Error>;

    /// The connection to the other party, once.
    fn channel(&mut self) -> Option<Self::Channel>;
}

/// Why nothing was opened. Nothing stands in for what is missing, unless the choice was [`Choice::Auto`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The host processor cannot be used.
    #[error("no queue on the host processor: {reason}")]
    NoHost {
        /// Why.
        reason: String,
    },
    /// There is no GPU to be had.
    #[error("no queue on a gpu: {reason}")]
    NoDevice {
        /// Why.
        reason: String,
    },
    /// What was given for a GPU is none.
    #[error("expected a queue on a gpu, got one on {got}")]
    NotADevice {
        /// What it is.
        got: BackendKind,
    },
    /// A GPU was opened, but no stager for it.
    #[error("no stager for the gpu: {reason}")]
    NoStager {
        /// Why.
        reason: String,
    },
    /// The stager is not one for the GPU that was opened.
    #[error("stager: {0}")]
    Stager(BatchError),
    /// There is no connection to the other party.
    #[error("no channel to the other party")]
    NoChannel,
}

/// A place to walk key trees, and the session with the other party.
#[derive(Debug)]
pub struct Opened<Q, S, C> {
    /// The queue.
    pub queue: Q,
    /// What copies, for a GPU.
    pub stager: Option<S>,
    /// The session.
    pub session: Session<C>,
    /// What was asked for.
    pub requested: Choice,
    /// What was opened: [`Choice::Cpu`] or [`Choice::Gpu`].
    pub active: Choice,
    /// Why [`Choice::Auto`] took the host processor, if it did.
    pub fallback: Option<OpenError>,
}

impl<Q: FssOps, S: Stager<Q>, C: Channel> Opened<Q, S, C> {
    /// Opens what `choice` says, with all that it needs, or nothing.
    ///
    /// # Errors
    /// [`OpenError`] for the first thing that is missing.
    pub fn open<P: Platform<Queue = Q, Stager = S, Channel = C>>(
        choice: Choice,
        platform: &mut P,
    ) -> Result<Self, OpenError> {
        let (queue, stager, active, fallback) = match choice {
            Choice::Cpu => (host(platform)?, None, Choice::Cpu, None),
            Choice::Gpu => {
                let (queue, stager) = device(platform)?;
                (queue, Some(stager), Choice::Gpu, None)
            }
            Choice::Auto => match device(platform) {
                Ok((queue, stager)) => (queue, Some(stager), Choice::Gpu, None),
                Err(reason) => (host(platform)?, None, Choice::Cpu, Some(reason)),
            },
        };
        let session = Session::new(platform.channel().ok_or(OpenError::NoChannel)?);
        Ok(Self { queue, stager, session, requested: choice, active, fallback })
    }

    /// The stager as batches and executors take it.
    #[must_use]
    pub fn stager(&self) -> Option<&dyn Stager<Q>> {
        self.stager.as_ref().map(|stager| stager as &dyn Stager<Q>)
    }

    /// An empty batch.
    ///
    /// # Errors
    /// As [`SuperBatch::new`].
    pub fn batch(&self, config: BatchConfig) -> Result<SuperBatch<'_, Q>, PfssError> {
        SuperBatch::new(&self.queue, self.stager(), config)
    }
}

fn host<P: Platform>(platform: &mut P) -> Result<P::Queue, OpenError> {
    platform.host().map_err(|reason| OpenError::NoHost { reason: reason.to_string() })
}

fn device<P: Platform>(platform: &mut P) -> Result<(P::Queue, P::Stager), OpenError> {
    let queue = platform.device().map_err(|reason| OpenError::NoDevice { reason: reason.to_string() })?;
    let got = queue.caps().kind;
    if got == BackendKind::Cpu {
        return Err(OpenError::NotADevice { got });
    }
    let missing = |reason: String| OpenError::NoStager { reason };
    let stager = platform.stager(&queue).map_err(|reason| missing(reason.to_string()))?;
    let stager = stager.ok_or_else(|| missing("the program has none".into()))?;
    let queues = [stager.upload(), stager.download()].map(Held::Lent);
    Queues::new(Held::Lent(&queue), Some(queues)).map_err(OpenError::Stager)?;
    Ok((queue, stager))
}
