//! Copies that stay on devices for later ops, and are evicted when an op needs their memory.

use core::{any::Any, ptr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use backend_api::{BackendError, Budget, Element, Queue};

/// A copy in device memory, which is freed when it is dropped.
pub(crate) trait Kept: Any + Send + Sync {
    /// The budget of the device. No other device has one at this address while the copy lives.
    fn budget(&self) -> &Budget;

    /// Bytes that the copy takes from the budget.
    fn bytes(&self) -> u64;
}

/// An op holds a second owner of the copy that it uses.
type List = Mutex<Vec<Arc<dyn Kept>>>;

/// The lists of the process, so that an op finds the copies on its device.
static LISTS: Mutex<Vec<Weak<List>>> = Mutex::new(Vec::new());

/// Copies of the same elements: at most one for each device.
pub(crate) struct KeptCopies(Arc<List>);

impl Default for KeptCopies {
    fn default() -> Self {
        let list = Arc::default();
        let mut lists = lock(&LISTS);
        lists.retain(|other| other.strong_count() > 0);
        lists.push(Arc::downgrade(&list));
        Self(list)
    }
}

impl KeptCopies {
    /// The copy on the device with `budget`, which `make` makes if there is none.
    ///
    /// Before it is made, unused copies on other devices are dropped. They hold their queues, and
    /// may be the last owners of a device that the caller has closed.
    pub(crate) fn on_device<K: Kept>(
        &self,
        budget: &Budget,
        make: impl FnOnce() -> Result<Option<K>, BackendError>,
    ) -> Result<Option<Arc<K>>, BackendError> {
        let mut copies = lock(&self.0);
        let mut on_device = copies.iter().filter(|copy| ptr::eq(copy.budget(), budget));
        let known = on_device.find_map(|copy| {
            let copy: Arc<dyn Any + Send + Sync> = Arc::<dyn Kept>::clone(copy);
            copy.downcast::<K>().ok()
        });
        if known.is_some() {
            return Ok(known);
        }
        copies.retain(is_used);
        let made = make()?.map(Arc::new);
        copies.extend(made.iter().map(|copy| Arc::clone(copy) as Arc<dyn Kept>));
        Ok(made)
    }
}

/// Allocates `len` elements, in place of unused copies on the device if memory is short.
pub(crate) fn alloc<Q: Queue, T: Element>(q: &Q, len: usize) -> Result<Q::Buf<T>, BackendError> {
    retrying(q, || q.alloc(len))
}

/// Calls `op`, which allocates on the device of `q`, and repeats it if memory is short.
///
/// Before each repetition one unused copy on the device is dropped. None is dropped if the
/// allocation would exceed the budget even without all of them.
pub(crate) fn retrying<Q: Queue, T>(q: &Q, mut op: impl FnMut() -> Result<T, BackendError>) -> Result<T, BackendError> {
    let (budget, mut lists) = (q.budget(), None);
    loop {
        let refused = match op() {
            Err(error) if lacks_memory(&error) => error,
            outcome => return outcome,
        };
        // No lock is held while another is taken, and none while `op` runs.
        let lists = lists.get_or_insert_with(|| lock(&LISTS).iter().filter_map(Weak::upgrade).collect::<Vec<_>>());
        if let BackendError::BudgetExceeded { need_bytes, .. } = refused {
            // A copy that another thread drops after this sum counts twice: `op` is then repeated once too often.
            let unused = lists.iter().map(|list| unused_bytes(list, budget)).fold(0, u64::saturating_add);
            let free = budget.limit_bytes().saturating_sub(budget.live_bytes());
            if need_bytes > free.saturating_add(unused) {
                return Err(refused);
            }
        }
        let take = |of_any_budget: bool| {
            lists.iter().find_map(|list| {
                let mut copies = lock(list);
                let is_of = |copy: &Arc<dyn Kept>| of_any_budget || ptr::eq(copy.budget(), budget);
                let at = copies.iter().position(|copy| !is_used(copy) && is_of(copy))?;
                Some(copies.swap_remove(at))
            })
        };
        // A device that is open twice has two budgets, but one memory.
        let is_of_device = matches!(refused, BackendError::OutOfMemory { .. });
        let unused = take(false).or_else(|| if is_of_device { take(true) } else { None });
        if unused.is_none() {
            return Err(refused);
        }
    }
}

/// Bytes of `budget` that unused copies of a list take.
fn unused_bytes(list: &List, budget: &Budget) -> u64 {
    let copies = lock(list);
    let unused = copies.iter().filter(|copy| !is_used(copy) && ptr::eq(copy.budget(), budget));
    unused.map(|copy| copy.bytes()).fold(0, u64::saturating_add)
}

/// Whether memory was short, of the budget or of the device. Nothing was allocated.
pub(crate) fn lacks_memory(error: &BackendError) -> bool {
    matches!(error, BackendError::BudgetExceeded { .. } | BackendError::OutOfMemory { .. })
}

/// Whether an op uses the copy. The list that owns it is locked.
fn is_used(copy: &Arc<dyn Kept>) -> bool {
    Arc::strong_count(copy) > 1
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
pub(crate) mod tests {
    use backend_api::Queue as _;
    use runtime::{AnyBuf, AnyQueue, Choice};

    use super::*;
    use crate::{PfssError, testing::open};

    /// A queue whose budget is 4 KiB.
    fn small() -> AnyQueue {
        open(Choice::Cpu, Some(4096))
    }

    /// Bytes that a buffer takes in addition to its elements.
    const START: usize = 64;

    /// A kilobyte, with the queue that it is on.
    struct Kilobyte(AnyQueue, #[expect(dead_code, reason = "holds the memory")] AnyBuf<u8>);

    impl Kept for Kilobyte {
        fn budget(&self) -> &Budget {
            self.0.budget()
        }

        fn bytes(&self) -> u64 {
            1024
        }
    }

    fn keep(copies: &KeptCopies, q: &AnyQueue) -> Arc<Kilobyte> {
        let make = || Ok(Some(Kilobyte(q.clone(), q.alloc(1024 - START)?)));
        copies.on_device(q.budget(), make).unwrap().unwrap()
    }

    /// Checks that `op` drops an unused copy if its last block of 512 bytes needs the memory.
    ///
    /// The results of `op` are compared with the processor's. It takes at least the 64 KiB of a
    /// device's smallest budget.
    pub(crate) fn expect_eviction<T: PartialEq>(op: impl Fn(&AnyQueue) -> Result<T, PfssError>) {
        let (expected, idle) = (op(&open(Choice::Cpu, None)).unwrap(), open(Choice::Sim, None));
        assert!(op(&idle).unwrap() == expected);
        let peak = idle.budget().peak_bytes();
        for (room, left) in [(1024, 1024), (512, 0)] {
            let (q, copies) = (open(Choice::Sim, Some(peak + room)), KeptCopies::default());
            keep(&copies, &q);
            assert!(op(&q).unwrap() == expected, "{room}");
            assert_eq!(q.budget().live_bytes(), left, "{room}");
        }
    }

    #[test]
    fn unused_copies_on_the_device_give_way_one_by_one() {
        let (q, other) = (small(), small());
        let lists = [(); 4].map(|()| KeptCopies::default());
        let used = keep(&lists[0], &q);
        keep(&lists[1], &other);
        lists[2..].iter().for_each(|list| drop(keep(list, &q)));
        assert_eq!(q.budget().live_bytes(), 3072);

        // What can never fit drops none.
        assert!(alloc::<_, u8>(&q, 4097).is_err());
        assert_eq!(q.budget().live_bytes(), 3072);
        // Nor does what would not fit even without both unused copies.
        let refused = alloc::<_, u8>(&q, 3072 + 64 - START).map(drop);
        assert_eq!(
            refused,
            Err(BackendError::BudgetExceeded { need_bytes: 3136, free_bytes: 1024, limit_bytes: 4096 })
        );
        assert_eq!(q.budget().live_bytes(), 3072);

        // One of the two unused copies has to go, then both; the one in use stays.
        let two = alloc::<_, u8>(&q, 2048 - START).unwrap();
        assert_eq!(q.budget().live_bytes(), 1024 + 1024 + 2048);
        drop(two);
        let three = alloc::<_, u8>(&q, 3072 - START).unwrap();
        assert_eq!(q.budget().live_bytes(), 1024 + 3072);
        let refused = alloc::<_, u8>(&q, 1024 - START).map(drop);
        assert_eq!(refused, Err(BackendError::BudgetExceeded { need_bytes: 1024, free_bytes: 0, limit_bytes: 4096 }));
        assert_eq!(other.budget().live_bytes(), 1024);

        drop((used, three));
        drop(alloc::<_, u8>(&q, 4096 - START).unwrap());
        assert_eq!(q.budget().live_bytes(), 0);
    }

    #[test]
    fn copies_of_all_budgets_give_way_when_a_device_is_out_of_memory() {
        // Other tests of the process keep copies.
        test_process::alone(|| {
            let (copies, queues) = ([(); 2].map(|()| KeptCopies::default()), [(); 2].map(|()| small()));
            copies.iter().zip(&queues).for_each(|(copies, q)| drop(keep(copies, q)));
            let mut live = Vec::new();
            let refused = retrying(&queues[0], || {
                live.push(queues.iter().map(|q| q.budget().live_bytes()).sum());
                Err::<(), _>(BackendError::OutOfMemory { bytes: 7 })
            });
            assert_eq!((refused, live), (Err(BackendError::OutOfMemory { bytes: 7 }), vec![2048, 1024, 0]));
        });
    }

    #[test]
    fn a_copy_is_made_once_and_replaces_unused_ones_on_other_devices() {
        let (copies, [q, other, third]) = (KeptCopies::default(), [(); 3].map(|()| small()));
        let first = keep(&copies, &q);
        assert!(Arc::ptr_eq(&first, &keep(&copies, &q)));
        keep(&copies, &other);
        let live = || [&q, &other, &third].map(|q| q.budget().live_bytes());
        assert_eq!(live(), [1024, 1024, 0]);
        keep(&copies, &third);
        assert_eq!(live(), [1024, 0, 1024]);
        drop((first, copies));
        assert_eq!(live(), [0; 3]);
    }
}
