//! Checks a cell's settings for contradictions to each other or to the standards.

use cwndlab_units::Duration;

use super::config::{BackgroundConfig, BlockErrors, CellConfig, DirectionConfig, SchedulerConfig};
use super::error::CellError;
use super::plan::{Band, Plan};
use crate::channel::{AdaptationConfig, Coding, FadingConfig};
use crate::queue::DualPi2Settings;
use crate::{AqmConfig, EarlyDiscard};
use crate::{Direction, Probability};

/// Checks the settings of a cell that do not depend on its radio technology.
pub(crate) fn check(config: &CellConfig) -> Result<(), CellError> {
    if config.users.is_empty() || config.users.len() > 1000 {
        return Err(CellError::Users(config.users.len()));
    }
    let fadings = config.users.iter().map(|user| user.fading);
    let fadings = fadings.chain(config.background.iter().map(|group| group.fading));
    for fading in fadings.flatten() {
        if fading.branches == 0 || fading.branches > FadingConfig::MOST_BRANCHES {
            return Err(CellError::Branches(fading.branches));
        }
    }
    for group in &config.background {
        check_background(group)?;
    }
    if let Some(rrc) = &config.rrc {
        if rrc.promotion_least > rrc.promotion_most {
            return Err(CellError::Bounds("rrc", "promotion_least_ns"));
        }
        if rrc.paging_cycle == Duration::ZERO {
            return Err(CellError::Cycle("paging_cycle_ns"));
        }
        if rrc.drx_after.is_some() && rrc.drx_cycle == Duration::ZERO {
            return Err(CellError::Cycle("drx_cycle_ns"));
        }
    }
    if let Some(access) = &config.access
        && access.first_grant_bytes.is_some_and(|bytes| bytes < 16)
    {
        return Err(CellError::FirstGrant(access.first_grant_bytes.unwrap_or(0)));
    }
    if let Some(handover) = &config.handover
        && handover.interval <= handover.interruption
    {
        return Err(CellError::HandoverInterval);
    }
    Ok(())
}

/// Checks the settings of one direction of a cell.
pub(crate) fn check_direction(
    direction: Direction,
    config: &DirectionConfig,
    plan: &Plan,
) -> Result<(), CellError> {
    let schemes = plan.bands.iter().map(|band| band.coding.count()).min();
    let highest = schemes.unwrap_or(1) - 1;
    match config.adaptation {
        AdaptationConfig::Fixed { scheme } if scheme > highest => {
            return Err(CellError::Scheme { direction, scheme, highest });
        }
        AdaptationConfig::Fixed { .. } => {}
        AdaptationConfig::Reports { period, outer_loop, .. } => {
            if period.as_nanos() == 0 {
                return Err(CellError::ReportPeriod(direction));
            }
            if outer_loop.is_some_and(|outer| [0, 1_000_000_000].contains(&outer.target.ppb())) {
                return Err(CellError::OuterLoopTarget(direction));
            }
        }
    }
    if let Some(EarlyDiscard { at_packets, spacing_packets }) = config.early_discard {
        let is_reached = config.queue_packets.is_none_or(|limit| at_packets < limit);
        if at_packets == 0 || spacing_packets == 0 || !is_reached {
            return Err(CellError::EarlyDiscard(direction));
        }
    }
    if config.aqm.is_some() && (config.discard.is_some() || config.early_discard.is_some()) {
        return Err(CellError::Aqm(direction));
    }
    let has_fewer_acks = config.ack_filter.is_some() || config.ack_thinning.is_some();
    if has_fewer_acks && (config.discard.is_some() || config.early_discard.is_some()) {
        let key = if config.ack_filter.is_some() { "ack_filter" } else { "ack_thinning" };
        return Err(CellError::FewerAcks(direction, key));
    }
    if config.ack_filter.is_some() && matches!(config.aqm, Some(AqmConfig::Pie { .. })) {
        return Err(CellError::AckFilterPie(direction));
    }
    if let Some(AqmConfig::Codel { interval, .. } | AqmConfig::FqCodel { interval, .. }) =
        config.aqm
        && interval == Duration::ZERO
    {
        return Err(CellError::AqmInterval(direction));
    }
    if let Some(AqmConfig::DualPi2 { target, max_rtt, threshold }) = config.aqm
        && !(DualPi2Settings { target, max_rtt, threshold }).is_usable()
    {
        return Err(CellError::DualPi2Times(direction));
    }
    if config.transmissions == 0 {
        return Err(CellError::NoTransmission(direction));
    }
    match &config.block_errors {
        BlockErrors::Curves if matches!(plan.bands[..], [Band { coding: Coding::Single, .. }]) => {
            return Err(CellError::NoCurves(direction));
        }
        BlockErrors::Given { ppb } if ppb.is_empty() => {
            return Err(CellError::NoErrorRate(direction));
        }
        BlockErrors::Given { ppb } if ppb.last() == Some(&Probability::ONE) => {
            return Err(CellError::HopelessErrors(direction));
        }
        BlockErrors::Curves | BlockErrors::Given { .. } => {}
    }
    match config.scheduler {
        SchedulerConfig::ProportionalFair { window } if window < 2 => {
            Err(CellError::SchedulerWindow(direction))
        }
        _ => Ok(()),
    }
}

/// Checks the settings of background users.
fn check_background(config: &BackgroundConfig) -> Result<(), CellError> {
    if config.on.as_nanos() == 0 {
        return Err(CellError::BackgroundOn);
    }
    if config.lowest_mdb > config.highest_mdb {
        return Err(CellError::Bounds("background", "lowest_mdb"));
    }
    Ok(())
}
