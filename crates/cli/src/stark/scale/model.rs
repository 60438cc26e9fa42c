//! How long a proof takes on several devices, by what one of them computes and sends.

/// What one rank does in a stage of a proof.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StageWork {
    /// The stage.
    pub(super) name: String,
    /// Seconds that the rank computes.
    pub(super) compute: f64,
    /// Bytes that it sends to each other rank.
    pub(super) bytes_to_each: f64,
    /// Exchanges that it waits for.
    pub(super) calls: f64,
}

/// What one rank does in a proof that `ranks` make together.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RankWork {
    pub(super) ranks: u32,
    pub(super) stages: Vec<StageWork>,
}

/// What carries bytes between devices.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DeviceLink {
    pub(super) name: String,
    /// Bytes per second sent to all others together, while receiving at the same rate.
    pub(super) rate: f64,
}

/// Assumptions about the devices.
///
/// A rank computes and exchanges by turns, as the prover does: nothing overlaps. An exchange takes
/// as long as the bytes that a rank sends to all others take on its link, and as long as every
/// exchange does, whatever it carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ScalingModel {
    /// How many times as fast as the measured one a device computes.
    pub(super) faster: f64,
    /// Seconds that every exchange takes.
    pub(super) latency: f64,
}

impl RankWork {
    /// Seconds that the rank computes.
    pub(super) fn compute(&self) -> f64 {
        self.stages.iter().map(|stage| stage.compute).sum()
    }

    /// Bytes that it sends to each other rank.
    pub(super) fn bytes_to_each(&self) -> f64 {
        self.stages.iter().map(|stage| stage.bytes_to_each).sum()
    }

    /// Exchanges that it waits for.
    pub(super) fn calls(&self) -> f64 {
        self.stages.iter().map(|stage| stage.calls).sum()
    }
}

impl ScalingModel {
    /// Seconds of a proof on links of one kind.
    pub(super) fn time(&self, work: &RankWork, link: &DeviceLink) -> f64 {
        let others = f64::from(work.ranks - 1);
        work.compute() / self.faster + work.bytes_to_each() * others / link.rate + work.calls() * self.latency
    }

    /// How many times as fast a proof is made as by `one` device.
    pub(super) fn speed_up(&self, one: &RankWork, work: &RankWork, link: &DeviceLink) -> f64 {
        self.time(one, link) / self.time(work, link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &str, compute: f64, bytes_to_each: f64, calls: f64) -> StageWork {
        StageWork { name: name.to_owned(), compute, bytes_to_each, calls }
    }

    /// One device: 8 s that are shared, 2 s that are not.
    ///
    /// Four: 2 s and 2 s, and 3e9 bytes from each to each in 10 exchanges.
    fn works() -> [RankWork; 2] {
        let shared = [stage("a", 8.0, 0.0, 0.0), stage("a", 2.0, 2e9, 4.0)];
        let alike = [stage("b", 2.0, 0.0, 0.0), stage("b", 2.0, 1e9, 6.0)];
        let [one, four] = [0, 1].map(|k| vec![shared[k].clone(), alike[k].clone()]);
        [RankWork { ranks: 1, stages: one }, RankWork { ranks: 4, stages: four }]
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "sums and quotients of small whole numbers")]
    fn times_are_those_computed_by_hand() {
        let [one, four] = works();
        let link = DeviceLink { name: "nine".to_owned(), rate: 9e9 };
        let plain = ScalingModel { faster: 1.0, latency: 0.0 };
        // 4 s of work, and 3 x 3e9 bytes at 9e9 a second.
        assert_eq!((plain.time(&one, &link), plain.time(&four, &link)), (10.0, 5.0));
        assert_eq!(plain.speed_up(&one, &four, &link), 2.0);
        // A device twice as fast: 2 s of work, the same second on the links, and half a second for each exchange.
        let other = ScalingModel { faster: 2.0, latency: 0.5 };
        assert_eq!((other.time(&one, &link), other.time(&four, &link)), (5.0, 8.0));
        assert_eq!(other.speed_up(&one, &four, &link), 0.625);
        assert_eq!((four.compute(), four.bytes_to_each(), four.calls()), (4.0, 3e9, 10.0));
    }

    #[test]
    fn what_is_not_shared_bounds_the_speed_up_on_any_link() {
        let [one, four] = works();
        let infinite = DeviceLink { name: "ideal".to_owned(), rate: f64::INFINITY };
        let model = ScalingModel { faster: 1.0, latency: 0.0 };
        assert!((model.speed_up(&one, &four, &infinite) - 2.5).abs() < 1e-12, "10 s of 8 / 4 + 2");
    }
}
