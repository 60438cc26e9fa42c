//! Special registers by their PTX names.

/// A component of a three-dimensional special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are PTX's own")]
pub enum Axis {
    X,
    Y,
    Z,
}

/// A special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are PTX's own")]
pub enum Special {
    Tid(Axis),
    Ntid(Axis),
    Ctaid(Axis),
    Nctaid(Axis),
    Laneid,
    Warpid,
    Nwarpid,
    Smid,
    Nsmid,
    Gridid,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    Clock,
    ClockHi,
    Clock64,
    Globaltimer,
    GlobaltimerLo,
    GlobaltimerHi,
    DynamicSmemSize,
    TotalSmemSize,
    AggrSmemSize,
    Clusterid(Axis),
    Nclusterid(Axis),
    ClusterCtaid(Axis),
    ClusterNctaid(Axis),
    ClusterCtarank,
    ClusterNctarank,
    IsExplicitCluster,
}

/// A special register of three components.
type Triple = (fn(Axis) -> Special, &'static str);

const TRIPLES: [Triple; 8] = [
    (Special::Tid, "%tid"),
    (Special::Ntid, "%ntid"),
    (Special::Ctaid, "%ctaid"),
    (Special::Nctaid, "%nctaid"),
    (Special::Clusterid, "%clusterid"),
    (Special::Nclusterid, "%nclusterid"),
    (Special::ClusterCtaid, "%cluster_ctaid"),
    (Special::ClusterNctaid, "%cluster_nctaid"),
];

const SINGLES: [(Special, &str); 23] = [
    (Special::Laneid, "%laneid"),
    (Special::Warpid, "%warpid"),
    (Special::Nwarpid, "%nwarpid"),
    (Special::Smid, "%smid"),
    (Special::Nsmid, "%nsmid"),
    (Special::Gridid, "%gridid"),
    (Special::LanemaskEq, "%lanemask_eq"),
    (Special::LanemaskLe, "%lanemask_le"),
    (Special::LanemaskLt, "%lanemask_lt"),
    (Special::LanemaskGe, "%lanemask_ge"),
    (Special::LanemaskGt, "%lanemask_gt"),
    (Special::Clock, "%clock"),
    (Special::ClockHi, "%clock_hi"),
    (Special::Clock64, "%clock64"),
    (Special::Globaltimer, "%globaltimer"),
    (Special::GlobaltimerLo, "%globaltimer_lo"),
    (Special::GlobaltimerHi, "%globaltimer_hi"),
    (Special::DynamicSmemSize, "%dynamic_smem_size"),
    (Special::TotalSmemSize, "%total_smem_size"),
    (Special::AggrSmemSize, "%aggr_smem_size"),
    (Special::ClusterCtarank, "%cluster_ctarank"),
    (Special::ClusterNctarank, "%cluster_nctarank"),
    (Special::IsExplicitCluster, "%is_explicit_cluster"),
];

impl Special {
    /// The register written `name`, percent sign and component included.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some((single, _)) = SINGLES.iter().find(|(_, text)| *text == name) {
            return Some(*single);
        }
        let (stem, axis) = name.split_once('.')?;
        let axis = match axis {
            "x" => Axis::X,
            "y" => Axis::Y,
            "z" => Axis::Z,
            _ => return None,
        };
        TRIPLES.iter().find(|(_, text)| *text == stem).map(|(triple, _)| triple(axis))
    }

    /// The name with its percent sign and component.
    #[must_use]
    pub fn name(self) -> String {
        if let Some((_, text)) = SINGLES.iter().find(|(single, _)| *single == self) {
            return (*text).to_owned();
        }
        for (axis, suffix) in [(Axis::X, "x"), (Axis::Y, "y"), (Axis::Z, "z")] {
            if let Some((_, stem)) = TRIPLES.iter().find(|(triple, _)| triple(axis) == self) {
                return format!("{stem}.{suffix}");
            }
        }
        unreachable!("every special register is in one of the two tables")
    }
}
