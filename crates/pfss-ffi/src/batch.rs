//! Super-batches over C: jobs in, one flush, rounds of messages, shares out.
//!
//! # Safety
//! As said [at the top](crate#safety).

use std::{sync::Arc, time::Instant};

use pfss::{
    Operation, PfssError, Shares,
    batch::{BatchConfig, BatchError, BatchLimits, Counters, Fit, Handle, Job, State, Streams, SuperBatch},
};
use runtime::AnyQueue;

use crate::{
    Backend, GateHandle, Keys,
    arrays::check_calls,
    memory::{array, check, exclusive, fill, free, put, put_handle, shared},
    shares::{additive, packed, unless_masked, wipe},
    status::{CallFailure, Status, guard},
    stream::{arrays_of_thread, shares_of},
};

/// Many gates evaluated together by one party.
///
/// They take one pass over the device, and one message a round for all of them.
pub struct BatchHandle {
    queue: Arc<AnyQueue>,
    batch: SuperBatch<'static, AnyQueue>,
    /// The jobs since the last clear, and their operations.
    jobs: Vec<(Handle, Arc<Operation>)>,
    /// The number of the first of them.
    first: u64,
}

/// Limits of a batch, and its treatment of jobs that do not fit the device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BatchOptions {
    /// Jobs.
    pub jobs: u64,
    /// Masked inputs.
    pub words: u64,
    /// Bytes of masked inputs.
    pub bytes: u64,
    /// Flushes over the life of the batch.
    pub flushes: u64,
    /// Bytes of device memory; 0 for all that the backend may use.
    pub device_bytes: u64,
    /// 0 refuses a job that does not fit; 1 cuts it into parts that fit, and streams their keys.
    pub split: u32,
    /// Parts whose keys may be on the device at once, 1 to 3.
    pub slots: u32,
    /// The most elements of a part, a multiple of 32.
    pub part: usize,
}

/// Counters of a batch since it was opened.
///
/// Sizes and AES blocks follow from public shapes, times are the host's.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BatchCounters {
    /// Jobs walked.
    pub jobs: u64,
    /// Groups of jobs of one gate.
    pub groups: u64,
    /// Flushes.
    pub flushes: u64,
    /// Elements walked.
    pub elements: u64,
    /// Parts that jobs were cut into; a job that was not cut is one.
    pub parts: u64,
    /// AES blocks, by formula.
    pub aes: u64,
    /// Bytes of keys copied to the device.
    pub key_bytes: u64,
    /// Bytes of masked inputs, as words.
    pub input_bytes: u64,
    /// Bytes of masked inputs without the bits above their rings.
    pub packed_input_bytes: u64,
    /// Bytes of public points copied to the device.
    pub point_bytes: u64,
    /// Bytes of results copied from the device.
    pub result_bytes: u64,
    /// Bytes that openings sent.
    pub opened_bytes: u64,
    /// Rounds of openings.
    pub rounds: u64,
    /// Seconds spent copying keys and points to the device.
    pub copy_in_seconds: f64,
    /// Seconds spent walking key trees.
    pub walk_seconds: f64,
    /// Seconds spent copying results from the device, and waiting for them.
    pub copy_out_seconds: f64,
    /// Seconds from this party's messages to the other's answers.
    pub exchange_seconds: f64,
    /// Seconds of flushes spent on anything else.
    pub idle_seconds: f64,
}

impl From<BatchOptions> for BatchConfig {
    fn from(options: BatchOptions) -> Self {
        let BatchOptions { jobs, words, bytes, flushes, device_bytes, split, slots, part } = options;
        let device_bytes = (device_bytes > 0).then_some(device_bytes);
        let limits = BatchLimits { jobs, words, bytes, flushes, device_bytes };
        let fit = if split == 0 { Fit::Whole } else { Fit::Split };
        Self { limits, fit, slots: slots as usize, part }
    }
}

impl From<BatchConfig> for BatchOptions {
    fn from(config: BatchConfig) -> Self {
        let BatchLimits { jobs, words, bytes, flushes, device_bytes } = config.limits;
        Self {
            jobs,
            words,
            bytes,
            flushes,
            device_bytes: device_bytes.unwrap_or(0),
            split: u32::from(config.fit == Fit::Split),
            slots: config.slots as u32, // at most 3
            part: config.part,
        }
    }
}

impl From<Counters> for BatchCounters {
    fn from(counters: Counters) -> Self {
        let times = counters.times;
        Self {
            jobs: counters.jobs,
            groups: counters.groups,
            flushes: counters.flushes,
            elements: counters.elements,
            parts: counters.parts,
            aes: counters.aes,
            key_bytes: counters.key_bytes,
            input_bytes: counters.input_bytes,
            packed_input_bytes: counters.packed_input_bytes,
            point_bytes: counters.point_bytes,
            result_bytes: counters.result_bytes,
            opened_bytes: counters.opened_bytes,
            rounds: counters.rounds,
            copy_in_seconds: times.copy_in.as_secs_f64(),
            walk_seconds: times.walk.as_secs_f64(),
            copy_out_seconds: times.copy_out.as_secs_f64(),
            exchange_seconds: times.exchange.as_secs_f64(),
            idle_seconds: times.idle.as_secs_f64(),
        }
    }
}

impl BatchHandle {
    fn open(backend: &Backend, config: BatchConfig) -> Result<Self, CallFailure> {
        let queue = &backend.queue;
        let streams = match &**queue {
            AnyQueue::Cpu(_) => None,
            device => Some(Streams::fork(device).map_err(PfssError::from)?.into_queues().map(Arc::new)),
        };
        let start = Instant::now();
        let batch = SuperBatch::shared(Arc::clone(queue), streams, config)?.timed(move || start.elapsed());
        Ok(Self { queue: Arc::clone(queue), batch, jobs: Vec::new(), first: 0 })
    }

    /// The batch for a call that works on the device, where a failure ends it.
    fn working(&mut self) -> Result<&mut SuperBatch<'static, AnyQueue>, CallFailure> {
        check_calls(&self.queue)?;
        Ok(&mut self.batch)
    }

    /// The shares of the job `number`, and its operation.
    fn job(&self, number: u64) -> Result<(&Shares, &Operation), CallFailure> {
        let stale = || {
            let end = self.first + self.jobs.len() as u64;
            CallFailure::state(format!(
                "expected a job of {}..{end} (since the last clear), got job {number}",
                self.first
            ))
        };
        let index = number.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        let (job, operation) = index.and_then(|index| self.jobs.get(index)).ok_or_else(stale)?;
        Ok((self.batch.shares(*job)?, &**operation))
    }

    /// The output words of the job `number`, under masks or not.
    fn words(&self, number: u64, masked: bool) -> Result<&[u64], CallFailure> {
        let (shares, operation) = self.job(number)?;
        unless_masked(operation.gate().masks_outputs(), masked)?;
        Ok(&shares.words)
    }

    /// The shares of a descriptor's job.
    fn descriptor(&self, number: u64) -> Result<&Shares, CallFailure> {
        match self.job(number)? {
            (shares, operation) if operation.gate().program().is_some() => Ok(shares),
            _ => Err(CallFailure::state("the job's gate has no output bits")),
        }
    }

    /// Length of the message that is due now; 0 when all is computed.
    fn message_len(&mut self) -> Result<usize, CallFailure> {
        let batch = self.working()?;
        while batch.state()? != State::Finalized {
            match batch.round()? {
                // jobs of no elements have nothing to say
                Some(message) if message.is_empty() => batch.absorb(&message)?,
                Some(message) => return Ok(message.len()),
                None => {}
            }
        }
        Ok(0)
    }

    /// Drops jobs and wipes what they gave.
    fn clear(&mut self) -> Result<(), BatchError> {
        self.wipe();
        self.batch.clear()?;
        self.first += self.jobs.len() as u64;
        self.jobs.clear();
        Ok(())
    }

    fn wipe(&mut self) {
        for (job, _) in &self.jobs {
            if let Ok(mut shares) = self.batch.take(*job) {
                wipe(&mut shares);
            }
        }
    }
}

impl Drop for BatchHandle {
    fn drop(&mut self) {
        self.wipe();
    }
}

/// The options of a batch that is given none: the limits of SUF, and jobs are not cut.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_batch_options_default(options: *mut BatchOptions) -> Status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { put("options", BatchConfig::default().into(), options) })
}

/// Begins a batch on a backend; `options` may be null.
///
/// Threads may use different batches of one backend. The backend may be freed before the batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_batch_open(
    backend: *mut Backend,
    options: *const BatchOptions,
    batch: *mut *mut BatchHandle,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let backend = unsafe { shared("backend", backend) }?;
        let config = if options.is_null() {
            BatchConfig::default()
        } else {
            // SAFETY: the caller's promise.
            unsafe { array("options", options, 1) }?[0].into()
        };
        check("batch", batch, 1)?;
        let opened = BatchHandle::open(&backend, config)?;
        // SAFETY: the caller's promise.
        unsafe { put_handle("batch", opened, batch) }
    })
}

/// Adds a job to the batch and writes the job's number.
///
/// The job is `gate`, with `keys` dealt for it, on the public masked inputs `hatx`, one for each
/// element. Both parties submit the same jobs in the same order.
///
/// This spends the keys. If the job is refused, the keys are unchanged and still usable for the
/// same masked inputs. These inputs are open, so no other keys fit them. `hatx` may be in memory of
/// the thread's device; the call copies it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_batch_submit(
    batch: *mut BatchHandle,
    gate: *mut GateHandle,
    keys: *mut Keys,
    hatx: *const u64,
    count: usize,
    job: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (mut batch, gate, mut keys) =
            unsafe { (exclusive("batch", batch)?, shared("gate", gate)?, exclusive("keys", keys)?) };
        // SAFETY: the caller's promise.
        let hatx = unsafe { arrays_of_thread()?.input("hatx", hatx, count) }?;
        check("job", job, 1)?; // before the keys are spent
        CallFailure::unless_len("masked inputs", keys.count()?, count)?;
        let submitted = Job::new(Arc::clone(&gate.operation), keys.take()?, hatx.to_vec());
        let taken = batch.batch.try_enqueue(submitted).map_err(|refused| {
            keys.put_back(refused.job.into_keys());
            refused.error
        })?;
        let number = batch.first + batch.jobs.len() as u64;
        batch.jobs.push((taken, Arc::clone(&gate.operation)));
        // SAFETY: the caller's promise.
        unsafe { put("job", number, job) }
    })
}

/// Walks the key trees of all jobs. After a failure the batch never gives any results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_batch_flush(batch: *mut BatchHandle) -> Status {
    // SAFETY: the caller's promise.
    guard(|| Ok(unsafe { exclusive("batch", batch) }?.working()?.flush()?))
}

/// Begins a round, unless one is open, and writes its number of bytes.
///
/// This number of bytes has to be sent and received in the round, for all jobs together; it is 0
/// when all is computed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_batch_pending(batch: *mut BatchHandle, bytes: *mut usize) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mut batch = unsafe { exclusive("batch", batch) }?;
        check("bytes", bytes, 1)?;
        let len = batch.message_len()?;
        // SAFETY: the caller's promise.
        unsafe { put("bytes", len, bytes) }
    })
}

/// This party's masked bits and words of the round, to be sent to the other party.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_batch_masked(batch: *mut BatchHandle, bytes: *mut u8, len: usize) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mut batch = unsafe { exclusive("batch", batch) }?;
        let message = batch.working()?.round()?.ok_or_else(|| CallFailure::state("no opening is pending"))?;
        // SAFETY: the caller's promise.
        unsafe { fill("bytes of masked bits and words", &message, bytes, len) }
    })
}

/// Takes in the other party's bytes of the round.
///
/// If they are not the message that is due, the batch never gives any results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_batch_absorb(batch: *mut BatchHandle, peer: *const u8, len: usize) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (mut batch, peer) = unsafe { (exclusive("batch", batch)?, array("peer", peer, len)?) };
        Ok(batch.working()?.absorb(peer)?)
    })
}

/// A digest of the gates, counts and nonces of all jobs so far, 32 bytes.
///
/// Parties have to compare digests before they open anything: if they differ, the parties are out
/// of step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_batch_digest(batch: *mut BatchHandle, digest: *mut u8, len: usize) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let batch = unsafe { exclusive("batch", batch) }?;
        // SAFETY: the caller's promise.
        unsafe { fill("bytes of the digest", &batch.batch.digest(), digest, len) }
    })
}

/// Additive shares of the masked output words `y + r_out` of a job.
///
/// They are laid out as in `trefoil_pfss_haty_share`, modulo `2^n` of the output. The gate has
/// masked outputs, and the shares are meant to be opened. Jobs from before a clear are refused.
/// `haty` may be in memory of the thread's device, as the arrays of the next three calls may.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_batch_haty_share(
    batch: *mut BatchHandle,
    job: u64,
    haty: *mut u64,
    len: usize,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { shares_of(("batch", batch), ("shares of words", haty, len), |batch| batch.words(job, true)) }
}

/// Additive shares of the output words `y` of a job.
///
/// They are laid out as in `trefoil_pfss_y_share`. The gate has no masked outputs. Do not open the
/// shares unless both parties may know `y`. Jobs from before a clear are refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_batch_y_share(
    batch: *mut BatchHandle,
    job: u64,
    y: *mut u64,
    len: usize,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { shares_of(("batch", batch), ("shares of words", y, len), |batch| batch.words(job, false)) }
}

/// Additive shares of the output bits of a descriptor's job, as `trefoil_pfss_bool_share`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_batch_bool_share(
    batch: *mut BatchHandle,
    job: u64,
    bools: *mut u64,
    len: usize,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { shares_of(("batch", batch), ("shares of bits", bools, len), |batch| additive(batch.descriptor(job)?)) }
}

/// XOR shares of the output bits of a descriptor's job, as `trefoil_pfss_bool_share_packed`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_batch_bool_share_packed(
    batch: *mut BatchHandle,
    job: u64,
    bools: *mut u32,
    words: usize,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { shares_of(("batch", batch), ("words of bits", bools, words), |batch| packed(batch.descriptor(job)?)) }
}

/// Reads the counters of a batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_batch_counters(batch: *mut BatchHandle, counters: *mut BatchCounters) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let batch = unsafe { exclusive("batch", batch) }?;
        // SAFETY: the caller's promise.
        unsafe { put("counters", batch.batch.counters().into(), counters) }
    })
}

/// Drops all jobs and wipes their results; the batch then takes in jobs again.
///
/// A batch that failed stays failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_batch_clear(batch: *mut BatchHandle) -> Status {
    // SAFETY: the caller's promise.
    guard(|| Ok(unsafe { exclusive("batch", batch) }?.clear()?))
}

/// Frees a batch, finished or not, and wipes the shares of a finished one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_batch_free(batch: *mut BatchHandle) {
    // SAFETY: the caller's promise.
    unsafe { free(batch) };
}
