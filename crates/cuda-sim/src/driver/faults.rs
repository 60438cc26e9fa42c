//! Faults to inject into calls.

use std::str::FromStr;

use cuda_loader::Status;

use super::spec_error::SpecError;

/// One fault: what happens, in which calls.
///
/// As a text it is `what@where[:n]`. `what` is `oom` (the call answers out of memory), `fail=CODE`
/// (the call answers the code and does nothing), `late=CODE` (the call succeeds, and the work it
/// enqueued fails when it runs), `slow` (the work takes long, so other ready work overtakes it) or
/// `hang` (the work never ends: whoever asks is told that it is not ready, and whoever waits for it
/// is told that the launch timed out). `where` is a class of calls or the name of a function, and
/// `n` the call it happens in, counted from 1 in each class or function; without it, in every call.
/// In calls of NCCL the code is one of NCCL's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    what: Effect,
    place: CallSelector,
    nth: Option<u64>,
    seen: u64,
}

/// The calls that a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CallSelector {
    Class(&'static str),
    Function(String),
}

/// Effect of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// The call answers this code at once.
    Answer(Status),
    /// The work that the call enqueues ends with this code.
    Late(Status),
    /// The work that the call enqueues takes long.
    Slow,
    /// The work that the call enqueues never ends.
    Hang,
}

/// Names of the classes of calls that a [`Rule`] may name.
pub const CLASSES: &[&str] = &[
    "init",
    "device",
    "context",
    "module",
    "function",
    "occupancy",
    "launch",
    "alloc",
    "free",
    "host",
    "memcpy",
    "memset",
    "pool",
    "pointer",
    "stream",
    "sync",
    "query",
    "event",
    "capture",
    "graph",
    "peer",
    "nccl",
    "other",
];

/// The class of a function of the driver API, or of NCCL.
pub fn class(name: &str) -> &'static str {
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    match name {
        "cuInit" | "cuDriverGetVersion" => "init",
        _ if name.starts_with("nccl") => "nccl",
        _ if has(&["Capture"]) => "capture",
        _ if has(&["GraphLaunch", "LaunchKernel", "LaunchCooperative", "LaunchHostFunc", "AddCallback"]) => "launch",
        _ if has(&["Graph"]) => "graph",
        _ if has(&["Synchronize"]) => "sync",
        _ if has(&["StreamQuery", "EventQuery"]) => "query",
        _ if has(&["Peer"]) && !has(&["Memcpy"]) || has(&["P2P"]) => "peer",
        _ if has(&["Memcpy"]) => "memcpy",
        _ if has(&["Memset"]) => "memset",
        _ if has(&["HostAlloc", "AllocHost", "FreeHost", "MemHost"]) => "host",
        _ if has(&["MemAlloc"]) => "alloc",
        _ if has(&["MemFree"]) => "free",
        _ if has(&["MemPool"]) => "pool",
        _ if has(&["Pointer", "MemGet"]) => "pointer",
        _ if has(&["cuEvent", "WaitEvent"]) => "event",
        _ if has(&["cuStream"]) => "stream",
        _ if has(&["Occupancy"]) => "occupancy",
        _ if has(&["cuFunc", "ModuleGetFunction"]) => "function",
        _ if has(&["cuModule"]) => "module",
        _ if has(&["Ctx"]) => "context",
        _ if has(&["cuDevice"]) => "device",
        _ => "other",
    }
}

impl Rule {
    /// Counts a call of `name`; the effect, if it happens in this one.
    pub(super) fn meet(&mut self, name: &str) -> Option<Effect> {
        let is_here = match &self.place {
            CallSelector::Class(place) => *place == class(name),
            CallSelector::Function(place) => place == name,
        };
        if !is_here {
            return None;
        }
        self.seen += 1;
        self.nth.is_none_or(|nth| nth == self.seen).then_some(self.what)
    }
}

impl FromStr for Rule {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let refuse = |expected| SpecError { item: text.to_owned(), expected };
        let (what, place) = text.split_once('@').ok_or_else(|| refuse("what@where[:n]"))?;
        let (place, nth) = match place.split_once(':') {
            Some((place, nth)) => {
                let nth = nth.parse().ok().filter(|&nth| nth > 0);
                (place, Some(nth.ok_or_else(|| refuse("a count of calls from 1 after the colon"))?))
            }
            None => (place, None),
        };
        let code = |digits: &str| digits.parse().map(Status).map_err(|_| refuse("a result code after `=`"));
        let what = match what.split_once('=') {
            None if what == "oom" => Effect::Answer(Status::OUT_OF_MEMORY),
            None if what == "slow" => Effect::Slow,
            None if what == "hang" => Effect::Hang,
            Some(("fail", digits)) => Effect::Answer(code(digits)?),
            Some(("late", digits)) => Effect::Late(code(digits)?),
            _ => return Err(refuse("oom, fail=CODE, late=CODE, slow or hang before `@`")),
        };
        let place = match CLASSES.iter().find(|class| **class == place) {
            Some(class) => CallSelector::Class(class),
            None if place.starts_with("cu") || place.starts_with("nccl") => CallSelector::Function(place.to_owned()),
            None => return Err(refuse("a class of calls or the name of a function after `@`")),
        };
        Ok(Self { what, place, nth, seen: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_call_of_a_class_meets_the_fault_and_no_other() {
        let mut rule: Rule = "fail=700@launch:2".parse().unwrap();
        assert_eq!(rule.meet("cuLaunchKernel"), None);
        assert_eq!(rule.meet("cuMemAlloc_v2"), None);
        assert_eq!(rule.meet("cuGraphLaunch"), Some(Effect::Answer(Status::ILLEGAL_ADDRESS)));
        assert_eq!(rule.meet("cuLaunchKernel"), None);
    }

    #[test]
    fn a_function_may_be_named_and_meets_it_in_every_call() {
        let mut rule: Rule = "slow@cuMemcpyHtoDAsync_v2".parse().unwrap();
        assert_eq!(rule.meet("cuMemcpyDtoHAsync_v2"), None);
        assert_eq!([rule.meet("cuMemcpyHtoDAsync_v2"), rule.meet("cuMemcpyHtoDAsync_v2")], [Some(Effect::Slow); 2]);
    }

    #[test]
    fn functions_fall_into_the_class_that_their_name_says() {
        for (name, expected) in [
            ("cuMemcpyPeerAsync", "memcpy"),
            ("cuCtxEnablePeerAccess", "peer"),
            ("cuDeviceGetP2PAttribute", "peer"),
            ("cuMemAllocFromPoolAsync", "alloc"),
            ("cuMemAllocHost_v2", "host"),
            ("cuStreamBeginCapture_v2", "capture"),
            ("cuStreamSynchronize", "sync"),
            ("cuCtxSynchronize", "sync"),
            ("cuStreamWaitEvent", "event"),
            ("cuGraphInstantiateWithFlags", "graph"),
            ("cuModuleGetFunction", "function"),
            ("cuDevicePrimaryCtxRetain", "context"),
            ("cuDeviceGetDefaultMemPool", "pool"),
            ("ncclCommInitRank", "nccl"),
        ] {
            assert_eq!(class(name), expected, "{name}");
            assert!(CLASSES.contains(&expected));
        }
    }
}
