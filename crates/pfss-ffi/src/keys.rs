use pfss::{GateKind, KeyBundle, suf::BoolMode};
use zeroize::Zeroizing;

use crate::{
    memory::{array, fill, free, handle, put, put_handle},
    status::{Failure, Status, guard},
};

/// The bytes of one party's bundle, as secret as its keys.
pub struct Bytes {
    bytes: Zeroizing<Vec<u8>>,
}

impl Bytes {
    pub(crate) fn new(bundle: &KeyBundle) -> Self {
        Self { bytes: bundle.to_bytes() }
    }
}

/// One party's keys. They are used once.
pub struct Keys {
    bundle: Option<KeyBundle>,
}

fn spent() -> Failure {
    Failure::state("the keys were evaluated before")
}

impl Keys {
    pub(crate) fn bundle(&self) -> Result<&KeyBundle, Failure> {
        self.bundle.as_ref().ok_or_else(spent)
    }

    /// The keys, which are spent by it.
    pub(crate) fn take(&mut self) -> Result<KeyBundle, Failure> {
        self.bundle.take().ok_or_else(spent)
    }
}

/// What is public about a bundle.
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
    /// How often bits have to be opened, behind the masked inputs.
    pub rounds: u32,
    /// Equal in both parties' bundles, different for every deal.
    pub nonce: [u8; 16],
}

/// Where the bytes stand; valid until they are freed. Null for null.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_bytes_data(bytes: *mut Bytes) -> *const u8 {
    // SAFETY: the caller's promise.
    unsafe { handle("bytes", bytes) }.map_or(core::ptr::null(), |bytes| bytes.bytes.as_ptr())
}

/// How many bytes there are; 0 for null.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_bytes_len(bytes: *mut Bytes) -> usize {
    // SAFETY: the caller's promise.
    unsafe { handle("bytes", bytes) }.map_or(0, |bytes| bytes.bytes.len())
}

/// Wipes and frees bytes.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_bytes_free(bytes: *mut Bytes) {
    // SAFETY: the caller's promise.
    unsafe { free(bytes) };
}

/// Reads keys from the bytes of a bundle. Bytes that are no bundle are refused, whatever they are, and bundles of gates
/// that this interface does not make.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_keys_read(bytes: *const u8, len: usize, keys: *mut *mut Keys) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { array("bytes", bytes, len) }?;
        let bundle = KeyBundle::from_bytes(bytes).map_err(pfss::PfssError::from)?;
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
            return Err(Failure::new(Status::TREFOIL_PFSS_PROGRAM, expected));
        }
        // SAFETY: the caller's promise.
        unsafe { put_handle("keys", Keys { bundle: Some(bundle) }, keys) }
    })
}

/// Says what is public about keys.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_keys_inspect(keys: *mut Keys, info: *mut KeysInfo) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let bundle = unsafe { handle("keys", keys) }?.bundle()?;
        let gate = bundle.gate();
        // a gate by name has one output word
        let (words, bools, additive) = gate.program().map_or((1, 0, false), |program| {
            let (desc, form) = (program.desc(), program.modes().bools);
            (desc.words().len(), desc.bools().len(), form == BoolMode::Additive)
        });
        let facts = KeysInfo {
            party: bundle.party().number().into(),
            n: gate.n(),
            out_n: gate.out_ring().bits(),
            count: bundle.count(),
            words,
            bools,
            additive: u32::from(additive),
            rounds: gate.cost().rounds.saturating_sub(1) as u32, // bounded by the depth of formulas
            nonce: bundle.nonce(),
        };
        // SAFETY: the caller's promise.
        unsafe { put("info", facts, info) }
    })
}

/// Masks this party's input shares: `masked[e]` is its share of `x + r`, to be sent to the other party. The sum of both
/// parties' words, modulo `2^n`, is the public `hatx`. `count` is that of the keys.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_keys_mask_inputs(
    keys: *mut Keys,
    x: *const u64,
    count: usize,
    masked: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (keys, x) = unsafe { (handle("keys", keys)?, array("x", x, count)?) };
        let words = keys.bundle()?.masked_inputs(x)?;
        // SAFETY: the caller's promise.
        unsafe { fill("masked", &words, masked, count) }
    })
}

/// Wipes and frees keys.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_keys_free(keys: *mut Keys) {
    // SAFETY: the caller's promise.
    unsafe { free(keys) };
}
