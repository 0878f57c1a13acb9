//! Rounds: every party in its turn, on every case.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::case::{Agreement, Case, Group};
use super::party::{OURS, Party};

use super::record::{Outcome, Record, Skipped, mean_and_variance, median};
use super::worker::{Turn, Worker};

/// Sides of the square matrices whose product shows what the machine can do.
const GAUGE_SIZES: [u32; 4] = [256, 512, 1024, 1536];

/// A party with its process, and what it took in the present case.
struct Member {
    who: &'static str,
    worker: Worker,
    cases: fn(&str) -> bool,
    /// Whether the present case is none of its own.
    absent: bool,
    first: f64,
    /// Turns that it takes in the present case.
    share: u32,
    turns: Vec<Turn>,
    checks: Vec<f64>,
    before: Option<f64>,
    /// Why it is out of the present case.
    out: Option<String>,
}

impl Member {
    /// Runs `work`, unless the party is absent, or out already; an error takes it out.
    fn attempt(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) {
        if !self.absent
            && self.out.is_none()
            && let Err(error) = work(self)
        {
            self.out = Some(format!("{error:#}"));
        }
    }

    /// What the turns say about one quantity; empty unless all of them do.
    fn values(&self, quantity: impl Fn(&Turn) -> Option<f64>) -> Vec<f64> {
        self.turns.iter().map(quantity).collect::<Option<_>>().unwrap_or_default()
    }
}

/// Runs `cases` with `parties`, which have `threads` threads each. A party that fails is skipped, by name.
pub fn run(
    group: &Group,
    cases: &[Case],
    parties: Vec<Party>,
    threads: usize,
    rounds: u32,
    out: &Path,
) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut members = hire(group, parties, threads, out, &mut outcome)?;
    let mut rate: f64 = 0.0;
    for case in cases {
        println!("==> {} {}, {threads} thread(s)", group.name, case.name);
        let scratch = Scratch::new(out)?;
        let request = match (case.prepare)(&scratch.0) {
            Ok(request) => request,
            Err(error) => {
                skip(&mut outcome, "everybody", threads, Some(case.name.clone()), format!("{error:#}"));
                continue;
            }
        };
        rate = rate.max(gauge(case, &mut members));
        take_turns(group, case, &request, rounds, &mut members);
        rate = rate.max(gauge(case, &mut members));
        outcome.records.extend(conclude(group, case, threads, &members));
        for member in &members {
            if let Some(reason) = &member.out {
                skip(&mut outcome, member.who, threads, Some(case.name.clone()), reason.clone());
            }
        }
    }
    if rate > 0.0 {
        outcome.rates.push((threads, rate));
        for record in &mut outcome.records {
            let case = cases.iter().find(|case| case.name == record.case);
            record.floor_s = case.and_then(|case| case.flops).map(|flops| flops / rate);
        }
    }
    Ok(outcome)
}

/// Starts the parties' processes; who cannot be started is skipped.
fn hire(group: &Group, parties: Vec<Party>, threads: usize, out: &Path, outcome: &mut Outcome) -> Result<Vec<Member>> {
    let logs = out.join("logs");
    fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
    let mut members = Vec::new();
    for (number, Party { who, command, cases }) in parties.into_iter().enumerate() {
        let log = logs.join(format!("{}-{number}-{who}-{threads}.txt", group.name));
        match command.and_then(|command| Worker::start(command, &log).map_err(|error| format!("{error:#}"))) {
            Ok(worker) => {
                let (turns, checks) = (Vec::new(), Vec::new());
                members.push(Member {
                    who,
                    worker,
                    cases,
                    absent: false,
                    first: 0.0,
                    share: 0,
                    turns,
                    checks,
                    before: None,
                    out: None,
                });
            }
            Err(reason) => skip(outcome, who, threads, None, reason),
        }
    }
    Ok(members)
}

fn skip(outcome: &mut Outcome, who: &str, threads: usize, case: Option<String>, reason: String) {
    let reason = shorten(&reason);
    println!("skipped: {who}{}: {reason}", case.as_ref().map(|case| format!(" in {case}")).unwrap_or_default());
    outcome.skipped.push(Skipped { who: who.to_owned(), threads, case, reason });
}

/// The beginning and the end: ROOT's errors name template arguments by the thousand.
fn shorten(reason: &str) -> String {
    const KEPT: usize = 120;
    let characters: Vec<char> = reason.chars().collect();
    if characters.len() <= 2 * KEPT {
        return reason.to_owned();
    }
    let text = |part: &[char]| part.iter().collect::<String>();
    format!("{} ... {}", text(&characters[..KEPT]), text(&characters[characters.len() - KEPT..]))
}

/// The best matrix-product rate that CladTorch's worker reaches now; 0 where nobody asks for a floor.
fn gauge(case: &Case, members: &mut [Member]) -> f64 {
    let ours = members.iter_mut().find(|member| member.who == OURS && case.flops.is_some());
    let Some(member) = ours else { return 0.0 };
    let rates =
        GAUGE_SIZES.iter().filter_map(|size| member.worker.ask_number(&format!("sgemm size={size}"), "rate").ok());
    rates.fold(0.0, f64::max)
}

/// Warm-up and rounds. Who begins changes from round to round.
fn take_turns(group: &Group, case: &Case, request: &str, rounds: u32, members: &mut [Member]) {
    let scored = matches!(group.agreement, Agreement::Score { .. });
    for member in members.iter_mut() {
        (member.out, member.before, member.absent) = (None, None, !(member.cases)(&case.name));
        member.turns.clear();
        member.checks.clear();
        member.attempt(|member| {
            member.worker.ask(&format!("case {request}"), "ready")?;
            if matches!(group.agreement, Agreement::Loss { .. }) {
                member.before = Some(member.worker.ask_number("check", "check")?);
            }
            member.first = member.worker.round(1, 0)?.seconds;
            for _ in 0..case.warm_up {
                member.worker.round(case.steps, 0)?;
            }
            member.share = share(group, member, case.steps, rounds);
            Ok(())
        });
    }
    let parties = members.len();
    for round in 0..rounds {
        for turn in 0..parties {
            members[(turn + round as usize) % parties].attempt(|member| {
                if !has_turn(round, member.share, rounds) {
                    return Ok(());
                }
                if case.lead > 0 {
                    member.worker.round(case.lead, 0)?;
                }
                let turn = member.worker.round(case.steps, round + 1)?;
                member.turns.push(turn);
                if scored || round + 1 == rounds {
                    let check = member.worker.ask_number("check", "check")?;
                    member.checks.push(check);
                }
                Ok(())
            });
        }
    }
}

/// How many of `rounds` a party takes part in: by the time that its first repetition took, where patience is limited.
fn share(group: &Group, member: &Member, steps: u64, rounds: u32) -> u32 {
    const LEAST: u32 = 3;
    match group.patience {
        Some(patience) if member.who != OURS => {
            let affordable = patience / (member.first * steps as f64);
            rounds.min((affordable as u32).max(LEAST))
        }
        _ => rounds,
    }
}

/// Whether a party with `share` of `rounds` turns has one in this round; always in the last.
fn has_turn(round: u32, share: u32, rounds: u32) -> bool {
    let before = |round: u32| u64::from(round) * u64::from(share) / u64::from(rounds);
    before(round + 1) > before(round)
}

/// Records of those who came through, flagged where the work was not equal.
fn conclude(group: &Group, case: &Case, threads: usize, members: &[Member]) -> Vec<Record> {
    let present = members.iter().filter(|member| !member.absent && member.out.is_none());
    let mut records: Vec<_> = present.map(|member| record(group, case, threads, member)).collect();
    flag(group.agreement, &mut records);
    records
}

fn record(group: &Group, case: &Case, threads: usize, member: &Member) -> Record {
    let (check, variance) = mean_and_variance(&member.checks);
    let scored = matches!(group.agreement, Agreement::Score { .. });
    let times = member.values(|turn| Some(turn.seconds));
    let middle = |values: Vec<f64>| (!values.is_empty()).then(|| median(&values));
    let peak = member.values(|turn| turn.memory).into_iter().reduce(f64::max);
    Record {
        case: case.name.clone(),
        who: member.who.to_owned(),
        threads,
        median_s: median(&times),
        low_s: times.iter().copied().fold(f64::INFINITY, f64::min),
        high_s: times.iter().copied().fold(0.0, f64::max),
        floor_s: None,
        rounds: times.len() as u32,
        first_s: member.first,
        bytes: case.volume.map(|volume| volume.raw),
        cpu_s: middle(member.values(|turn| turn.cpu)),
        first_batch_s: middle(member.values(|turn| turn.first)),
        extra_bytes: peak.zip(case.volume).map(|(peak, volume)| peak - volume.tensor as f64),
        check,
        check_before: member.before,
        check_error: scored.then(|| (variance / member.checks.len() as f64).sqrt()),
        flag: None,
    }
}

/// Marks every record of one case whose check is far from the others'.
fn flag(agreement: Agreement, records: &mut [Record]) {
    let middle = median(&records.iter().map(|record| record.check).collect::<Vec<_>>());
    // The parties' scores vary alike: their errors are pooled, and the median's is about that of one party.
    let variances = records.iter().map(|record| record.check_error.unwrap_or(0.0).powi(2));
    let error = (2.0 * variances.sum::<f64>() / records.len().max(1) as f64).sqrt();
    for record in records {
        record.flag = match agreement {
            Agreement::None => None,
            Agreement::Exact => disagreement(record.check, middle, 0.0),
            Agreement::Value { relative, absolute } => {
                disagreement(record.check, middle, (relative * middle.abs()).max(absolute))
            }
            Agreement::Loss { relative, absolute } => {
                let tolerance = (relative * middle.abs()).max(absolute);
                let learnt = record.check_before.is_none_or(|before| record.check < before);
                disagreement(record.check, middle, tolerance)
                    .or_else(|| (!learnt).then(|| "the loss did not fall".to_owned()))
            }
            Agreement::Score { absolute } => disagreement(record.check, middle, (3.0 * error).max(absolute)),
        };
    }
}

fn disagreement(check: f64, middle: f64, tolerance: f64) -> Option<String> {
    let within = (check - middle).abs() <= tolerance;
    (!within).then(|| format!("{check:.5} differs from the parties' median {middle:.5} by more than {tolerance:.5}"))
}

/// A folder for the files of one case, removed afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new(out: &Path) -> Result<Self> {
        let folder = out.join(format!("scratch-{}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::has_turn;

    #[test]
    fn turns_are_spread_over_the_rounds_and_end_with_the_last() {
        let turns = |share, rounds| (0..rounds).filter(|&round| has_turn(round, share, rounds)).collect::<Vec<_>>();
        assert_eq!(turns(3, 9), [2, 5, 8]);
        assert_eq!(turns(4, 9), [2, 4, 6, 8]);
        assert_eq!(turns(9, 9), (0..9).collect::<Vec<_>>());
    }
}
