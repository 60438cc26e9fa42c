//! Products by secret weights that are opened under a mask once, for any number of products.
//!
//! # Safety
//! As said [at the top](crate#safety).

use std::sync::Arc;

use pfss::{OpenedWeights, PfssError, WeightKey, WeightMask, WeightShape, WeightTriple};

use super::{
    ring_of,
    run::{RunHandle, RunResult, ShareWords},
};
use crate::{
    Backend, Bytes, DealerHandle,
    memory::{BothPlaces, array, check, exclusive, free, in_turn, put_handle, shared},
    resident::ResidentShares,
    status::{CallFailure, Status, guard},
    stream::arrays_of_thread,
};

/// One party's opened weights, for any number of products. Threads may share them.
pub struct WeightsHandle {
    weights: Arc<OpenedWeights>,
}

/// Deals the keys that open one secret matrix of weights, and the dealer's mask of it.
///
/// The matrix is `inner` by `cols`, modulo `2^n`, and `n` is 1 to 64. The mask makes keys of
/// products, in this or a later process. It stays with the dealer: whoever has it can open the
/// weights.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_weights_deal(
    dealer: *mut DealerHandle,
    n: u32,
    inner: usize,
    cols: usize,
    party_0: *mut *mut Bytes,
    party_1: *mut *mut Bytes,
    mask: *mut *mut Bytes,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mut dealer = unsafe { in_turn("dealer", dealer) }?;
        let places = BothPlaces::new(party_0, party_1)?;
        check("mask", mask, 1)?;
        let shape = WeightShape { inner, cols };
        let (keys, secret) = dealer.dealer.deal_weights(ring_of(n)?, shape).map_err(PfssError::from)?;
        // SAFETY: the caller's promise.
        unsafe {
            places.put(keys.map(|key| Bytes::of(key.to_bytes())))?;
            put_handle("mask", Bytes::of(secret.to_bytes()), mask)
        }
    })
}

/// Deals the keys of one product `x y` by weights `y` under `mask`.
///
/// `x` has `rows` rows. The backend multiplies the masks, for both parties together; the keys do
/// not depend on it. Each of the two byte strings is for its own party only, and for one product.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_weights_deal_product(
    dealer: *mut DealerHandle,
    backend: *mut Backend,
    mask: *const u8,
    mask_len: usize,
    rows: usize,
    party_0: *mut *mut Bytes,
    party_1: *mut *mut Bytes,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (mut dealer, backend, mask) =
            unsafe { (in_turn("dealer", dealer)?, shared("backend", backend)?, array("mask", mask, mask_len)?) };
        let places = BothPlaces::new(party_0, party_1)?;
        let mask = WeightMask::from_bytes(mask).map_err(PfssError::from)?;
        let triples = dealer.dealer.deal_weight_triple(&*backend.queue, &mask, rows)?;
        // SAFETY: the caller's promise.
        unsafe { places.put(triples.map(|triple| Bytes::of(triple.to_bytes()))) }
    })
}

/// Starts the run in which one party opens weights, from its shares `y` of them.
///
/// The weights are `inner` by `cols`, row-major, modulo `2^n`, as the keys were dealt. If one party
/// owns them, the other party's share is zeros. The run has one round of `ceil(inner cols n / 8)`
/// bytes and 16; `trefoil_pfss_run_weights` then gives the weights.
///
/// Keys of other weights and wrong numbers of elements are refused with the keys unchanged. After
/// that the keys are spent, whether the run succeeds or not, and the process refuses them. `y` may
/// be in memory of the thread's device; the call copies it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_weights_open(
    backend: *mut Backend,
    n: u32,
    inner: usize,
    cols: usize,
    keys: *const u8,
    keys_len: usize,
    y: *const u64,
    y_len: usize,
    run: *mut *mut RunHandle,
) -> Status {
    guard(|| {
        let arrays = arrays_of_thread()?;
        // SAFETY: the caller's promise.
        let (backend, keys, y) =
            unsafe { (shared("backend", backend)?, array("keys", keys, keys_len)?, arrays.input("y", y, y_len)?) };
        check("run", run, 1)?; // before the keys are spent
        let (ring, shape) = (ring_of(n)?, WeightShape { inner, cols });
        CallFailure::unless_len("elements of y", shape.elements(), y_len)?;
        let key = WeightKey::from_bytes(keys).map_err(PfssError::from)?;
        if (key.ring(), key.shape()) != (ring, shape) {
            return Err(PfssError::Program.into());
        }
        let y = y.into_words();
        let started = RunHandle::start(Arc::clone(&backend.queue), key.party(), move |session, queue| {
            session.open_weights(queue, key, &y).map(|weights| RunResult::Weights(Arc::new(weights)))
        })?;
        // SAFETY: the caller's promise.
        unsafe { put_handle("run", started, run) }
    })
}

/// The weights that a run opened.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_run_weights(run: *mut RunHandle, weights: *mut *mut WeightsHandle) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let run = unsafe { exclusive("run", run) }?;
        let RunResult::Weights(opened) = run.outcome()? else {
            return Err(CallFailure::state("no weights: the run has shares; use `trefoil_pfss_run_y_share`"));
        };
        // SAFETY: the caller's promise.
        unsafe { put_handle("weights", WeightsHandle { weights: Arc::clone(opened) }, weights) }
    })
}

/// Starts one party's run of a product `x y` by opened weights `y`, from its shares of `x`.
///
/// `x` is row-major and has the rows of the keys. The run has one round of
/// `ceil(rows inner n / 8)` bytes and 16; `trefoil_pfss_run_y_share` then gives the shares of the
/// product.
///
/// Keys for other weights and wrong numbers of elements are refused with the keys unchanged. After
/// that the keys are spent, whether the run succeeds or not, and the process refuses them. Backend
/// and weights may be freed before the run. `x` may be in memory of the thread's device; the call
/// copies it, as `trefoil_pfss_run_start` does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_weights_product(
    backend: *mut Backend,
    weights: *mut WeightsHandle,
    keys: *const u8,
    keys_len: usize,
    x: *const u64,
    x_len: usize,
    run: *mut *mut RunHandle,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (backend, weights) = unsafe { (shared("backend", backend)?, shared("weights", weights)?) };
        // SAFETY: the caller's promise.
        let keys = unsafe { array("keys", keys, keys_len) }?;
        let x = arrays_of_thread()?.find("x", x, x_len)?;
        // One op takes less than 2^32 elements.
        let on_device = x.is_on(&backend.queue) && u32::try_from(x_len).is_ok();
        // SAFETY: the caller's promise.
        let on_host = if on_device { None } else { Some(unsafe { x.read() }?) };
        check("run", run, 1)?; // before the keys are spent
        let triple = WeightTriple::from_bytes(keys).map_err(PfssError::from)?;
        let [left, ..] = triple.weights().product(triple.rows()).lens();
        CallFailure::unless_len("elements of x", left, x_len)?;
        let (queue, party, opened) = (Arc::clone(&backend.queue), triple.party(), Arc::clone(&weights.weights));
        // The session compares keys and weights before it spends the keys.
        let started = if let Some(x) = on_host {
            let x = x.into_words();
            RunHandle::start(queue, party, move |session, queue| {
                let product = session.matmul_weights(queue, triple, &x, &opened)?;
                Ok(RunResult::Words(ShareWords::new(product)))
            })
        } else {
            let copied = ResidentShares::new(&queue, |queue| {
                // SAFETY: the caller's promise.
                unsafe { x.shares(queue, party, triple.ring()) }.map(|x| [x])
            })?;
            RunHandle::start(queue, party, move |session, _| {
                let product = copied.map(|[x]| Ok([session.matmul_weights_on_device(triple, x, &opened)?]));
                product.map(RunResult::OnDevice)
            })
        }?;
        // SAFETY: the caller's promise.
        unsafe { put_handle("run", started, run) }
    })
}

/// The bytes of opened weights, for products in a later process.
///
/// They are as secret as keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_weights_bytes(weights: *mut WeightsHandle, bytes: *mut *mut Bytes) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let weights = unsafe { shared("weights", weights) }?;
        // SAFETY: the caller's promise.
        unsafe { put_handle("bytes", Bytes::of(weights.weights.to_bytes()), bytes) }
    })
}

/// Reads opened weights from their bytes, and refuses any others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_weights_read(
    bytes: *const u8,
    len: usize,
    weights: *mut *mut WeightsHandle,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { array("bytes", bytes, len) }?;
        let opened = OpenedWeights::from_bytes(bytes).map_err(PfssError::from)?;
        // SAFETY: the caller's promise.
        unsafe { put_handle("weights", WeightsHandle { weights: Arc::new(opened) }, weights) }
    })
}

/// Wipes and frees opened weights, once no run uses them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_weights_free(weights: *mut WeightsHandle) {
    // SAFETY: the caller's promise.
    unsafe { free(weights) };
}
