//! Handles of keys and byte strings: reading, writing, inspecting, masking.
//!
//! # Safety
//! As said [at the top](crate#safety).

use pfss::{DeviceShares, Gate, GateKind, KeyBundle, MaskedKeys, Party, PfssError, Ring, suf::BoolMode};
use runtime::AnyQueue;
use zeroize::Zeroizing;

use crate::{
    arrays::ResultWords,
    memory::{array, exclusive, free, put, put_handle, shared},
    resident::ResidentShares,
    status::{CallFailure, Status, guard},
    stream::arrays_of_thread,
};

/// The bytes of one party's keys, as secret as the keys. Threads may share them.
pub struct Bytes {
    bytes: Zeroizing<Vec<u8>>,
}

impl Bytes {
    pub(crate) fn of(bytes: Zeroizing<Vec<u8>>) -> Self {
        Self { bytes }
    }
}

/// One party's keys. They mask inputs once, and are evaluated once.
pub struct Keys(KeysState);

enum KeysState {
    Fresh(KeyBundle),
    /// For inputs that were masked, or are open already.
    Masked(MaskedKeys),
    Evaluated,
}

fn spent() -> CallFailure {
    CallFailure::state("the keys were evaluated before")
}

impl Keys {
    /// Keys that have masked nothing yet.
    pub(crate) fn fresh(bundle: KeyBundle) -> Self {
        Self(KeysState::Fresh(bundle))
    }

    /// The public facts: gate, party, count and nonce.
    fn facts(&self) -> Result<(&Gate, u8, usize, [u8; 16]), CallFailure> {
        match &self.0 {
            KeysState::Fresh(keys) => Ok((keys.gate(), keys.party().number(), keys.count(), keys.nonce())),
            KeysState::Masked(keys) => Ok((keys.gate(), keys.party().number(), keys.count(), keys.nonce())),
            KeysState::Evaluated => Err(spent()),
        }
    }

    /// The gate that they are for.
    pub(crate) fn gate(&self) -> Result<&Gate, CallFailure> {
        Ok(self.facts()?.0)
    }

    /// Whether the inputs are masked already.
    fn masks_nothing(&self) -> bool {
        !matches!(&self.0, KeysState::Fresh(bundle) if !bundle.takes_open_inputs())
    }

    /// How many elements they serve.
    pub(crate) fn count(&self) -> Result<usize, CallFailure> {
        Ok(self.facts()?.2)
    }

    /// This party's share of the masked inputs; this spends the masks.
    fn mask(&mut self, x: &[u64]) -> Result<Vec<u64>, CallFailure> {
        let (masked, keys) = self.unmasked(x.len())?.mask(x)?;
        self.0 = KeysState::Masked(keys);
        Ok(masked)
    }

    /// [`mask`](Self::mask) of shares in device memory, where the masked inputs stay.
    fn mask_on_device<'q>(
        &mut self,
        x: &DeviceShares<'q, AnyQueue>,
    ) -> Result<DeviceShares<'q, AnyQueue>, CallFailure> {
        let (masked, keys) = self.unmasked(x.len())?.mask_on_device(x)?;
        self.0 = KeysState::Masked(keys);
        Ok(masked)
    }

    /// Refuses another number of elements, and keys that mask nothing or have masked already.
    ///
    /// Returns the party and the ring.
    fn check_mask(&self, count: usize) -> Result<(Party, Ring), CallFailure> {
        CallFailure::unless_len("elements", self.count()?, count)?;
        match &self.0 {
            KeysState::Fresh(bundle) if bundle.takes_open_inputs() => Err(PfssError::OpenInputs.into()),
            KeysState::Fresh(bundle) => Ok((bundle.party(), bundle.gate().ring())),
            KeysState::Masked(_) => {
                Err(CallFailure::state("the keys already masked inputs: masking others would reveal the difference"))
            }
            KeysState::Evaluated => Err(spent()),
        }
    }

    /// The keys of `count` inputs that are not masked yet, which are taken out.
    fn unmasked(&mut self, count: usize) -> Result<KeyBundle, CallFailure> {
        self.check_mask(count)?;
        match core::mem::replace(&mut self.0, KeysState::Evaluated) {
            KeysState::Fresh(bundle) => Ok(bundle),
            state => {
                self.0 = state;
                Err(spent())
            }
        }
    }

    /// The keys for an evaluation, which spends them.
    pub(crate) fn take(&mut self) -> Result<MaskedKeys, CallFailure> {
        match core::mem::replace(&mut self.0, KeysState::Evaluated) {
            KeysState::Fresh(bundle) => Ok(bundle.with_open_inputs()?),
            KeysState::Masked(keys) => Ok(keys),
            KeysState::Evaluated => Err(spent()),
        }
    }

    /// Takes back keys that were not evaluated.
    pub(crate) fn put_back(&mut self, keys: MaskedKeys) {
        self.0 = KeysState::Masked(keys);
    }
}

/// Public facts of a bundle.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeysInfo {
    /// The party that it is for, 0 or 1.
    pub party: u32,
    /// Ring width of the input in bits.
    pub n: u32,
    /// Ring width of the output words in bits.
    pub out_n: u32,
    /// Elements that it serves.
    pub count: usize,
    /// Output words of an element, `r`.
    pub words: usize,
    /// Output bits of an element, `l`.
    pub bools: usize,
    /// 1 for additive shares of the bits, 0 for XOR shares.
    pub additive: u32,
    /// 1 if output words are masked by `r_out`, 0 if not.
    ///
    /// Masked words are meant to be opened. Without masks, the shares are of the words themselves.
    pub masked_outputs: u32,
    /// 1 if the keys mask no inputs.
    ///
    /// Their inputs come already opened from an earlier gate, or are already masked.
    pub open_inputs: u32,
    /// How often bits have to be opened, after the masked inputs.
    pub rounds: u32,
    /// Equal in both parties' bundles, different for every deal.
    pub nonce: [u8; 16],
}

/// Where the bytes are; valid until they are freed. Null for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_bytes_data(bytes: *mut Bytes) -> *const u8 {
    // SAFETY: the caller's promise.
    unsafe { shared("bytes", bytes) }.map_or(core::ptr::null(), |bytes| bytes.bytes.as_ptr())
}

/// How many bytes there are; 0 for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_bytes_len(bytes: *mut Bytes) -> usize {
    // SAFETY: the caller's promise.
    unsafe { shared("bytes", bytes) }.map_or(0, |bytes| bytes.bytes.len())
}

/// Wipes and frees bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_bytes_free(bytes: *mut Bytes) {
    // SAFETY: the caller's promise.
    unsafe { free(bytes) };
}

/// Reads keys from the bytes of a bundle.
///
/// Refuses bytes that are not a bundle, whatever they are, and bundles of gates that this interface
/// does not make.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_keys_read(bytes: *const u8, len: usize, keys: *mut *mut Keys) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { array("bytes", bytes, len) }?;
        let bundle = KeyBundle::from_bytes(bytes).map_err(PfssError::from)?;
        let kind = bundle.gate().kind();
        if matches!(
            kind,
            GateKind::Product
                | GateKind::IntervalPowers
                | GateKind::FullPredicates
                | GateKind::SignPredicates
                | GateKind::LowPredicates
        ) {
            let expected = format!("expected keys of a program or of a gate by name, got {kind}");
            return Err(CallFailure::new(Status::TREFOIL_PFSS_PROGRAM, expected));
        }
        // SAFETY: the caller's promise.
        unsafe { put_handle("keys", Keys::fresh(bundle), keys) }
    })
}

/// Reads the public facts of keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_keys_inspect(keys: *mut Keys, info: *mut KeysInfo) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let keys = unsafe { exclusive("keys", keys) }?;
        let (gate, party, count, nonce) = keys.facts()?;
        // a gate by name has one output word
        let (words, bools, additive) = gate.program().map_or((1, 0, false), |program| {
            let (desc, form) = (program.desc(), program.modes().bools);
            (desc.words().len(), desc.bools().len(), form == BoolMode::Additive)
        });
        let facts = KeysInfo {
            party: party.into(),
            n: gate.n(),
            out_n: gate.out_ring().bits(),
            count,
            words,
            bools,
            additive: u32::from(additive),
            masked_outputs: gate.masks_outputs().into(),
            open_inputs: keys.masks_nothing().into(),
            rounds: gate.cost().rounds.saturating_sub(1) as u32, // bounded by the depth of formulas
            nonce,
        };
        // SAFETY: the caller's promise.
        unsafe { put("info", facts, info) }
    })
}

/// Masks this party's input shares.
///
/// `masked[e]` is its share of `x + r`, to send to the other party. The sum of both parties' words,
/// modulo `2^n`, is the public `hatx`. `count` must equal the number of elements of the keys.
///
/// Keys mask once, since two inputs under one mask would reveal their difference: a second call is
/// refused, and so is any copy of the keys that this process reads from their bytes. `x` and
/// `masked` may be in memory of the thread's device. `x` is then masked there; if the device fails
/// before the masks are added, the handle is spent, but not the bytes of its keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_keys_mask_inputs(
    keys: *mut Keys,
    x: *const u64,
    count: usize,
    masked: *mut u64,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { mask_inputs(keys, x, count, masked, |keys| Ok(keys)) }
}

/// Runs a call that masks `count` inputs by a handle's keys, which `keys_of` returns.
///
/// Inputs in device memory are masked there.
///
/// # Safety
/// As said [at the top](crate#safety), for a handle and both arrays.
pub(crate) unsafe fn mask_inputs<K: Send>(
    handle: *mut K,
    x: *const u64,
    count: usize,
    masked: *mut u64,
    keys_of: impl FnOnce(&mut K) -> Result<&mut Keys, CallFailure>,
) -> Status {
    guard(|| {
        let arrays = arrays_of_thread()?;
        // SAFETY: the caller's promise.
        let (mut handle, x) = unsafe { (exclusive("keys", handle)?, arrays.find("x", x, count)?) };
        // The masks are spent once both arrays and the keys are looked at.
        let Some(queue) = arrays.queue().filter(|queue| x.is_on(queue)) else {
            // SAFETY: the caller's promise.
            let x = unsafe { x.read() }?;
            let masked = arrays.find("masked", masked, count)?;
            let words = keys_of(&mut handle)?.mask(&x)?;
            // SAFETY: the caller's promise.
            return unsafe { masked.fill(&words) };
        };
        let masked = arrays.find("masked", masked, count)?;
        let keys = keys_of(&mut handle)?;
        let (party, ring) = keys.check_mask(count)?;
        // SAFETY: the caller's promise.
        let inputs = ResidentShares::new(queue, |queue| unsafe { x.shares(queue, party, ring) }.map(|x| [x]))?;
        let words = inputs.map(|[x]| keys.mask_on_device(x).map(|masked| [masked]))?;
        // SAFETY: the caller's promise.
        unsafe { masked.fill_words(ResultWords::Device(&words)) }
    })
}

/// Wipes and frees keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_keys_free(keys: *mut Keys) {
    // SAFETY: the caller's promise.
    unsafe { free(keys) };
}
