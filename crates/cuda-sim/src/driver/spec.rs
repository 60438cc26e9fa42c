//! The specification of a simulated machine.
//!
//! It is one line of text that a user or a test can write.

use std::{collections::BTreeMap, str::FromStr};

use super::{
    faults::Rule,
    isa,
    limits::{self, CapabilityLimits},
    spec_error::SpecError,
};
use crate::exec::{Checks, Options, Schedule};

/// The machine to simulate.
///
/// As a text it is a list of items between semicolons, for example
/// `devices=4;cc=8.0;mem=64M;links=0-1:nvlink,0-2:pcie,2-3:dropped;schedule=lazy;oom@alloc:7`:
///
/// | item | meaning | without it |
/// | --- | --- | --- |
/// | `devices=N` | virtual devices, 0 to 64 | 1 |
/// | `cc=X.Y` | compute capability, 7.0 to 12.1; limits of blocks, shared memory and the cache follow it | 8.0 |
/// | `sms=N` | multiprocessors of each device, 1 to 1024 | 4 |
/// | `mem=N[K\|M\|G]` | bytes of each device | 256M |
/// | `links=A-B:kind,...` | peer links: `nvlink`, `pcie`, `dropped` or `none` | all `pcie` |
/// | `peer=off` | no peer links | |
/// | `peer=copies` | links serve copies alone: a kernel that touches memory of another device faults, whatever access was enabled | |
/// | `driver=X.Y` | the driver's CUDA release, 11.0 to 13.5; the PTX it compiles follows it | 12.4, or the first that supports the capability |
/// | `schedule=eager\|lazy\|random` | when streams run their work | `eager` |
/// | `seed=N` | seed of `random` | 0 |
/// | `order=natural\|reverse\|seeded` | the order in which blocks and warps take turns; `seeded` uses `seed` | `natural` |
/// | `threads=N` | host threads that share a launch, 1 to 64; for `natural` order without checks | 1 |
/// | `checks=none\|sanitize` | optional checkers of the executor | `none` |
/// | `watchdog=N` | warp instructions after which a launch counts as hung; so does one that makes N / 128 of them, or 2^24 if that is more, without a store, an atomic that changes a word, a barrier or the end of a thread | 2^34, hence 2^27 |
/// | anything with `@` | a fault to inject, see [`Rule`] | |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Number of virtual devices.
    pub devices: u32,
    /// Compute capability, major and minor.
    pub capability: (u32, u32),
    /// Multiprocessors of each device.
    pub multiprocessors: u32,
    /// Bytes of each device.
    pub memory: u64,
    /// Links that differ from `default_link`, by device pair, lower ordinal first.
    pub links: BTreeMap<(u32, u32), Link>,
    /// The link of every other pair.
    pub default_link: Link,
    /// Kernels reach no memory of other devices, whatever access was enabled.
    pub copies_alone: bool,
    /// CUDA release of the driver, 1000 for each major and 10 for each minor number.
    pub driver_version: i32,
    /// When streams run their work.
    pub schedule: StreamSchedule,
    /// Seed of the random schedules.
    pub seed: u64,
    /// The order in which blocks and warps take turns.
    pub order: Schedule,
    /// Optional checkers.
    pub checks: Checks,
    /// Warp instructions after which a launch counts as hung.
    pub watchdog: u64,
    /// Host threads that share the blocks of a launch in natural order without optional checkers.
    pub threads: usize,
    /// Faults to inject.
    pub faults: Vec<Rule>,
}

/// How two devices reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// A direct link with atomics.
    NvLink,
    /// Peer access over the bus.
    Pcie,
    /// As `Pcie`, but copies report success and write nothing.
    Dropped,
    /// No peer access; copies are staged by the driver.
    None,
}

/// When a stream runs its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamSchedule {
    /// As soon as it is enqueued.
    Eager,
    /// Only when something waits for it.
    ///
    /// Asynchronous copies then read their host source as late as the API permits.
    Lazy,
    /// Ready work of all streams interleaved at random, some of it late.
    Random,
}

/// The driver's CUDA release where nothing asks for another.
const DEFAULT_RELEASE: i32 = 12_040;

impl Default for Spec {
    fn default() -> Self {
        Self {
            devices: 1,
            capability: (8, 0),
            // Few, so that launches sized by them stay quick to execute.
            multiprocessors: 4,
            memory: 256 << 20,
            links: BTreeMap::new(),
            default_link: Link::Pcie,
            copies_alone: false,
            driver_version: DEFAULT_RELEASE,
            schedule: StreamSchedule::Eager,
            seed: 0,
            order: Schedule::Natural,
            checks: Checks::none(),
            watchdog: Options::default().watchdog,
            threads: 1,
            faults: Vec::new(),
        }
    }
}

impl Spec {
    /// The link between two devices; a device reaches itself without one.
    pub fn link(&self, a: u32, b: u32) -> Link {
        self.links.get(&(a.min(b), a.max(b))).copied().unwrap_or(self.default_link)
    }

    /// What its devices can do.
    ///
    /// # Errors
    /// [`SpecError`] if no device has the capability, there is no such release, or the release does
    /// not know the capability.
    pub(super) fn limits(&self) -> Result<&'static CapabilityLimits, SpecError> {
        let (major, minor) = self.capability;
        let refuse = |item, expected| Err(SpecError { item, expected });
        let Some(limits) = limits::of(self.capability) else {
            return refuse(format!("cc={major}.{minor}"), limits::CAPABILITIES);
        };
        let release = format!("driver={}.{}", self.driver_version / 1000, self.driver_version % 1000 / 10);
        if isa::newest(self.driver_version).is_none() {
            return refuse(release, isa::RELEASES);
        }
        if self.driver_version < limits.since.number {
            return refuse(format!("cc={major}.{minor};{release}"), limits.since.name);
        }
        Ok(limits)
    }
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut spec = Self::default();
        let mut order = "natural";
        let mut release = None;
        for item in text.split(';').map(str::trim).filter(|item| !item.is_empty()) {
            let refuse = |expected| SpecError { item: item.to_owned(), expected };
            if item.contains('@') {
                spec.faults.push(item.parse()?);
                continue;
            }
            let (key, value) = item.split_once('=').ok_or_else(|| refuse("key=value"))?;
            match key {
                "devices" => spec.devices = number(value, 64).ok_or_else(|| refuse("0 to 64"))? as u32,
                "cc" => {
                    let known = pair(value).filter(|&capability| limits::of(capability).is_some());
                    spec.capability = known.ok_or_else(|| refuse(limits::CAPABILITIES))?;
                }
                "sms" => {
                    let count = number(value, 1024).filter(|&count| count > 0);
                    spec.multiprocessors = count.ok_or_else(|| refuse("1 to 1024"))? as u32;
                }
                "mem" => spec.memory = bytes(value).ok_or_else(|| refuse("a number with K, M or G"))?,
                "links" => {
                    spec.links = links(value).ok_or_else(|| refuse("A-B:nvlink|pcie|dropped|none,..."))?;
                    spec.default_link = Link::None;
                }
                "peer" if value == "off" => (spec.links, spec.default_link) = (BTreeMap::new(), Link::None),
                "peer" if value == "copies" => spec.copies_alone = true,
                "driver" => {
                    let number = pair(value).map(|(major, minor)| (major * 1000 + minor * 10) as i32);
                    let known = number.filter(|&number| isa::newest(number).is_some());
                    release = Some(known.ok_or_else(|| refuse(isa::RELEASES))?);
                }
                "schedule" => {
                    spec.schedule = match value {
                        "eager" => StreamSchedule::Eager,
                        "lazy" => StreamSchedule::Lazy,
                        "random" => StreamSchedule::Random,
                        _ => return Err(refuse("eager, lazy or random")),
                    }
                }
                "threads" => {
                    let threads = number(value, 64).filter(|&threads| threads > 0);
                    spec.threads = threads.ok_or_else(|| refuse("1 to 64"))? as usize;
                }
                "seed" => spec.seed = number(value, u64::MAX).ok_or_else(|| refuse("a number"))?,
                "order" if ["natural", "reverse", "seeded"].contains(&value) => order = value,
                "order" => return Err(refuse("natural, reverse or seeded")),
                "checks" => {
                    spec.checks = match value {
                        "none" => Checks::none(),
                        "sanitize" => Checks::sanitize(),
                        _ => return Err(refuse("none or sanitize")),
                    }
                }
                "watchdog" => spec.watchdog = number(value, u64::MAX).ok_or_else(|| refuse("a number"))?,
                _ => {
                    return Err(refuse(
                        "devices, cc, sms, mem, links, peer=off|copies, driver, schedule, seed, order, threads, checks, \
                         watchdog or a fault",
                    ));
                }
            }
        }
        spec.order = match order {
            "reverse" => Schedule::Reverse,
            "seeded" => Schedule::Seeded(spec.seed),
            _ => Schedule::Natural,
        };
        let first = limits::of(spec.capability).map_or(0, |limits| limits.since.number);
        spec.driver_version = release.unwrap_or(DEFAULT_RELEASE.max(first));
        spec.limits()?;
        Ok(spec)
    }
}

fn number(text: &str, most: u64) -> Option<u64> {
    text.parse().ok().filter(|&value| value <= most)
}

/// Two numbers below 100 with a point between them.
fn pair(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((number(major, 99)? as u32, number(minor, 99)? as u32))
}

fn bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(digits) if text.ends_with('K') => (digits, 10),
        Some(digits) if text.ends_with('M') => (digits, 20),
        Some(digits) => (digits, 30),
        None => (text, 0),
    };
    number(digits, u64::MAX >> (shift + 8)).map(|count| count << shift)
}

fn links(text: &str) -> Option<BTreeMap<(u32, u32), Link>> {
    let link = |item: &str| {
        let (pair, kind) = item.split_once(':')?;
        let (a, b) = pair.split_once('-')?;
        let (a, b) = (number(a, 63)? as u32, number(b, 63)? as u32);
        let kind = match kind {
            "nvlink" => Link::NvLink,
            "pcie" => Link::Pcie,
            "dropped" => Link::Dropped,
            "none" => Link::None,
            _ => return None,
        };
        (a != b).then_some(((a.min(b), a.max(b)), kind))
    };
    text.split(',').filter(|item| !item.is_empty()).map(link).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_specification_parses() {
        let spec: Spec =
            "devices=4; cc=9.0; sms=132; mem=64M; links=0-1:nvlink,2-0:pcie,2-3:dropped; schedule=random; seed=7; \
                          order=seeded; checks=sanitize; watchdog=9; driver=11.8; oom@alloc:7"
                .parse()
                .unwrap();
        assert_eq!((spec.devices, spec.capability, spec.memory), (4, (9, 0), 64 << 20));
        assert_eq!(spec.multiprocessors, 132);
        assert_eq!(spec.link(1, 0), Link::NvLink);
        assert_eq!(spec.link(0, 2), Link::Pcie);
        assert_eq!(spec.link(3, 2), Link::Dropped);
        assert_eq!(spec.link(1, 3), Link::None);
        assert_eq!((spec.schedule, spec.order), (StreamSchedule::Random, Schedule::Seeded(7)));
        assert_eq!((spec.driver_version, spec.watchdog, spec.faults.len()), (11_080, 9, 1));
    }

    #[test]
    fn items_that_are_left_out_have_the_documented_values() {
        let documented = "devices=1;cc=8.0;sms=4;mem=256M;driver=12.4;schedule=eager;seed=0;order=natural;threads=1;\
                          checks=none;watchdog=17179869184";
        for text in [documented, ""] {
            assert_eq!(text.parse::<Spec>(), Ok(Spec::default()), "{text}");
        }
    }

    #[test]
    fn peers_reach_each_other_unless_the_text_says_otherwise() {
        assert_eq!("".parse::<Spec>().unwrap().link(0, 1), Link::Pcie);
        assert_eq!("peer=off".parse::<Spec>().unwrap().link(0, 1), Link::None);
        let copies: Spec = "peer=copies".parse().unwrap();
        assert_eq!((copies.link(0, 1), copies.copies_alone), (Link::Pcie, true));
    }

    #[test]
    fn numbers_are_accepted_up_to_their_bound() {
        assert_eq!((number("7", 7), number("8", 7), number("-1", 7), number("", 7)), (Some(7), None, None, None));
        assert_eq!((pair("99.99"), pair("100.1"), pair("1.100")), (Some((99, 99)), None, None));
    }

    #[test]
    fn items_have_their_documented_bounds() {
        for text in [
            "devices=0;sms=1;mem=0;threads=1;driver=11.0;seed=0;watchdog=0",
            "devices=64;sms=1024;threads=64;driver=13.5;seed=18446744073709551615;watchdog=18446744073709551615",
            "devices=64;links=63-0:none,0-62:nvlink;cc=7.0;mem=72057594037927935",
        ] {
            assert_eq!(text.parse::<Spec>().err(), None, "{text}");
        }
        let memory = |text: &str| format!("mem={text}").parse::<Spec>().map(|spec| spec.memory).ok();
        assert_eq!(["9", "9K", "9M", "9G"].map(memory), [Some(9), Some(9 << 10), Some(9 << 20), Some(9 << 30)]);
        let refused = "threads=65 links=64-0:none links=1-1:none mem=K mem=72057594037927936 cc=8.10 driver=13.6";
        for bad in refused.split(' ') {
            assert_eq!(bad.parse::<Spec>().unwrap_err().item, bad);
        }
        // A specification that no text describes.
        for spec in [
            Spec { capability: (8, 1), ..Spec::default() },
            Spec { driver_version: 12_100, ..Spec::default() },
            Spec { capability: (9, 0), driver_version: 11_070, ..Spec::default() },
        ] {
            assert!(spec.limits().is_err(), "{spec:?}");
        }
        let oldest = Spec { capability: (9, 0), driver_version: 11_080, ..Spec::default() };
        assert!(oldest.limits().is_ok());
    }

    #[test]
    fn a_bad_item_is_named() {
        for bad in [
            "devices=65",
            "devices",
            "cc=8",
            "cc=8.1",
            "sms=0",
            "sms=1025",
            "sms=many",
            "driver=10.2",
            "driver=12.10",
            "driver=new",
            "cc=9.0;driver=11.7",
            "mem=64T",
            "mem=99999999999999999999",
            "links=0-0:pcie",
            "links=0:pcie",
            "links=0-1:magic",
            "schedule=now",
            "order=up",
            "checks=all",
            "gpu=1",
            "threads=0",
            "watchdog=long",
            "peer=on",
            "explode@alloc",
            "oom@alloc:0",
        ] {
            assert_eq!(bad.parse::<Spec>().unwrap_err().item, bad);
        }
    }

    #[test]
    fn the_release_of_the_driver_is_one_that_knows_the_capability() {
        let release = |text: &str| text.parse::<Spec>().map(|spec| spec.driver_version);
        assert_eq!(release(""), Ok(12_040));
        assert_eq!(release("cc=12.0"), Ok(12_080));
        assert_eq!(release("cc=9.0;driver=11.8"), Ok(11_080));
        let refused = release("driver=11.7;cc=9.0").unwrap_err();
        assert_eq!(refused.to_string(), "simulator item `cc=9.0;driver=11.7`: expected 11.8 or newer");
    }
}
