//! Charts of a report as SVG, in files beside it or inside a page.

use std::fmt::Write as _;

use super::axis::Scale;

/// A chart for a report.
pub struct Chart {
    /// Name of its file, without the extension.
    pub name: String,
    pub caption: String,
    pub body: Body,
}

pub enum Body {
    /// A line for each label, with the values of all series on one axis.
    Rows { series: Vec<Series<String>>, axis: Axis },
    /// Values against numbers, on a logarithmic axis; the series [`FLOOR`] is a dashed line.
    Curves { series: Vec<Series<f64>>, across: Axis, up: Axis },
}

pub struct Axis {
    pub title: String,
    pub log: bool,
    /// How the numbers at its ticks are written.
    pub show: fn(f64) -> String,
}

/// One party's points, in the order in which they are drawn.
pub struct Series<Place> {
    pub name: String,
    pub points: Vec<Point<Place>>,
}

pub struct Point<Place> {
    pub at: Place,
    pub value: f64,
    /// Ends of the line through the mark; `value` twice if there is none.
    pub range: [f64; 2],
}

/// The least possible time.
pub const FLOOR: &str = "floor";

/// Colours that stay apart for most kinds of colour vision (Petroff 2021).
const COLOURS: [&str; 10] =
    ["#3f90da", "#e08a00", "#bd1f01", "#717581", "#832db6", "#a96b59", "#e76300", "#8a7f3f", "#2a9d8f", "#5bb0b3"];

const WIDTH: f64 = 900.0;
/// Approximate width of a character of the labels.
const CHARACTER: f64 = 6.8;
const LEGEND_LINE: f64 = 20.0;

impl Series<String> {
    /// The point at `label`.
    fn at(&self, label: &str) -> Option<&Point<String>> {
        self.points.iter().find(|point| point.at == label)
    }
}

impl Chart {
    pub fn is_empty(&self) -> bool {
        match &self.body {
            Body::Rows { series, .. } => series.iter().all(|series| series.points.is_empty()),
            Body::Curves { series, .. } => series.iter().all(|series| series.points.is_empty()),
        }
    }

    pub fn svg(&self) -> String {
        let mut drawing = Drawing::default();
        match &self.body {
            Body::Rows { series, axis } => drawing.rows(series, axis),
            Body::Curves { series, across, up } => drawing.curves(series, across, up),
        }
        let (height, caption) = (drawing.height, escape(&self.caption));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
             font-family=\"system-ui, sans-serif\" font-size=\"12\" role=\"img\"><title>{caption}</title>\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>{}</svg>\n",
            drawing.text
        )
    }
}

#[derive(Default)]
struct Drawing {
    text: String,
    height: f64,
}

impl Drawing {
    fn rows(&mut self, all: &[Series<String>], axis: &Axis) {
        let mut labels: Vec<&str> = Vec::new();
        for point in all.iter().flat_map(|series| &series.points) {
            if !labels.contains(&point.at.as_str()) {
                labels.push(&point.at);
            }
        }
        let longest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
        let (left, right) = (20.0 + CHARACTER * longest as f64, WIDTH - 20.0);
        let top = self.legend(&names(all));
        let step = 12.0 + 4.0 * all.len() as f64;
        let bottom = top + step * labels.len() as f64;
        let points = all.iter().flat_map(|series| &series.points);
        let scale = Scale::over(points.flat_map(|point| point.range).chain([1.0]), axis.log, [left, right]);
        for (row, _) in labels.iter().enumerate().step_by(2) {
            let y = top + step * row as f64;
            let _ = write!(
                self.text,
                "<rect x=\"{left:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{step:.1}\" fill=\"#f3f4f6\"/>",
                right - left
            );
        }
        self.across(&scale, axis, [top, bottom]);
        let one = scale.place(1.0);
        self.line([one, top], [one, bottom], "stroke=\"#111\" stroke-dasharray=\"5 4\"");
        for (row, label) in labels.iter().enumerate() {
            let middle = top + step * (row as f64 + 0.5);
            self.text([left - 8.0, middle + 4.0], "end", label);
            for (index, series) in all.iter().enumerate() {
                let Some(point) = series.at(label) else { continue };
                let y = middle + 4.0 * (index as f64 - (all.len() - 1) as f64 / 2.0);
                let ends = point.range.map(|end| [scale.place(end), y]);
                self.line(ends[0], ends[1], &format!("stroke=\"{}\" stroke-width=\"1.5\"", colour(index)));
                let told = format!("{label}, {}: {}", series.name, (axis.show)(point.value));
                self.mark(index, [scale.place(point.value), y], &told);
            }
        }
        self.height = bottom + 44.0;
    }

    fn curves(&mut self, all: &[Series<f64>], across: &Axis, up: &Axis) {
        let top = self.legend(&names(all));
        let ([left, right], bottom) = ([80.0, WIDTH - 20.0], top + 340.0);
        let points = || all.iter().flat_map(|series| &series.points);
        let x = Scale::over(points().map(|point| point.at), across.log, [left, right]);
        let y = Scale::over(points().flat_map(|point| point.range), up.log, [bottom, top]);
        self.across(&x, across, [top, bottom]);
        for tick in y.ticks() {
            let height = y.place(tick);
            self.line([left, height], [right, height], "stroke=\"#ddd\"");
            self.text([left - 6.0, height + 4.0], "end", &(up.show)(tick));
        }
        let _ = write!(
            self.text,
            "<text transform=\"translate(14 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            (top + bottom) / 2.0,
            escape(&up.title)
        );
        for (index, series) in all.iter().enumerate() {
            let floor = series.name == FLOOR;
            let (colour, dash) = if floor { ("#111", "5 4") } else { (colour(index), "none") };
            let places: Vec<_> = series.points.iter().map(|point| [x.place(point.at), y.place(point.value)]).collect();
            let line: Vec<_> = places.iter().map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
            let _ = write!(
                self.text,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" \
                 stroke-dasharray=\"{dash}\"/>",
                line.join(" ")
            );
            for (point, &place) in series.points.iter().zip(&places).filter(|_| !floor) {
                let ends = point.range.map(|end| [place[0], y.place(end)]);
                self.line(ends[0], ends[1], &format!("stroke=\"{colour}\""));
                let told = format!("{}, {}: {}", series.name, (across.show)(point.at), (up.show)(point.value));
                self.mark(index, place, &told);
            }
        }
        self.height = bottom + 44.0;
    }

    /// Names with their marks, in as many lines as they need; returns the top of the picture below.
    fn legend(&mut self, names: &[&str]) -> f64 {
        let (mut x, mut y) = (20.0, 16.0);
        for (index, name) in names.iter().enumerate() {
            let width = 30.0 + CHARACTER * name.chars().count() as f64;
            if x + width > WIDTH {
                (x, y) = (20.0, y + LEGEND_LINE);
            }
            match *name {
                FLOOR => self.line([x - 6.0, y], [x + 6.0, y], "stroke=\"#111\" stroke-dasharray=\"5 4\""),
                _ => self.mark(index, [x, y], name),
            }
            self.text([x + 10.0, y + 4.0], "start", name);
            x += width;
        }
        y + LEGEND_LINE
    }

    /// The lower axis and its lines up to `top`.
    fn across(&mut self, scale: &Scale, axis: &Axis, [top, bottom]: [f64; 2]) {
        for tick in scale.ticks() {
            let x = scale.place(tick);
            self.line([x, top], [x, bottom], "stroke=\"#ddd\"");
            self.text([x, bottom + 16.0], "middle", &(axis.show)(tick));
        }
        let [from, to] = scale.ends();
        self.line([from, bottom], [to, bottom], "stroke=\"#888\"");
        self.text([(from + to) / 2.0, bottom + 36.0], "middle", &axis.title);
    }

    fn line(&mut self, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2], style: &str) {
        if [x1, y1] != [x2, y2] {
            let _ = write!(self.text, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {style}/>");
        }
    }

    fn text(&mut self, [x, y]: [f64; 2], anchor: &str, text: &str) {
        let text = escape(text);
        let _ = write!(self.text, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
    }

    /// The mark of the series at `index`; a browser shows `text` as a tooltip.
    fn mark(&mut self, index: usize, [x, y]: [f64; 2], text: &str) {
        let path = match index % 4 {
            0 => "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0",
            1 => "M-3.6 -3.6h7.2v7.2h-7.2z",
            2 => "M0 -4.8l4.4 8h-8.8z",
            _ => "M0 -5l5 5l-5 5l-5 -5z",
        };
        let (colour, text) = (colour(index), escape(text));
        let _ = write!(
            self.text,
            "<path transform=\"translate({x:.1} {y:.1})\" d=\"{path}\" fill=\"{colour}\"><title>{text}</title></path>"
        );
    }
}

fn names<Place>(all: &[Series<Place>]) -> Vec<&str> {
    all.iter().map(|series| series.name.as_str()).collect()
}

fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

/// Text for SVG and HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::plain;

    fn point<Place>(at: Place, value: f64, range: [f64; 2]) -> Point<Place> {
        Point { at, value, range }
    }

    fn axis(title: &str) -> Axis {
        Axis { title: title.to_owned(), log: true, show: plain }
    }

    fn chart(body: Body) -> Chart {
        Chart { name: "n".to_owned(), caption: "a < b".to_owned(), body }
    }

    /// The numbers of `attribute` in the elements `element` that hold `part`.
    fn numbers(svg: &str, element: &str, attribute: &str, part: &str) -> Vec<f64> {
        let elements = svg.split('<').filter(|text| text.starts_with(element) && text.contains(part));
        let value = |text: &str| text.split(&format!("{attribute}=\"")).nth(1)?.split('"').next()?.parse().ok();
        elements.filter_map(value).collect()
    }

    #[test]
    fn a_row_has_a_label_its_marks_and_their_ranges() {
        let series = |name: &str, points| Series { name: name.to_owned(), points };
        let body = Body::Rows {
            series: vec![
                series("libtorch", vec![point("mlp & co".to_owned(), 4.0, [2.0, 8.0])]),
                series("uproot", vec![point("other".to_owned(), 0.5, [0.5, 0.5])]),
            ],
            axis: axis("times"),
        };
        let svg = chart(body).svg();
        assert!(svg.contains("<title>a &lt; b</title>") && svg.contains(">mlp &amp; co</text>"), "{svg}");
        assert!(svg.contains("<title>mlp &amp; co, libtorch: 4</title>"), "{svg}");
        let ends = |attribute| numbers(&svg, "line", attribute, "stroke-width=\"1.5\"");
        let ([from], [to]) = (&ends("x1")[..], &ends("x2")[..]) else { panic!("one range: {svg}") };
        assert!(from < to, "{svg}");
        let dashes = numbers(&svg, "line", "x1", "dasharray");
        assert!(dashes.len() == 1 && dashes[0] < *from, "the line at 1 is left of the range from 2 to 8: {svg}");
    }

    #[test]
    fn the_floor_is_a_broken_line_without_marks() {
        let series = |name: &str| Series {
            name: name.to_owned(),
            points: vec![point(1.0, 2.0, [2.0, 2.0]), point(10.0, 3.0, [3.0, 3.0])],
        };
        let body = Body::Curves { series: vec![series("cladtorch"), series(FLOOR)], across: axis("x"), up: axis("y") };
        let svg = chart(body).svg();
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert_eq!(svg.matches("<path").count(), 3, "two points and the legend: {svg}");
        assert_eq!(svg.matches("stroke-dasharray=\"5 4\"").count(), 2, "the line and the legend: {svg}");
    }
}
