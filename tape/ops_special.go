package tape

import (
	"math"

	"nabla/kernels"
)

// betaMixedBend is the derivative of beta by a three times and b.
const betaMixedBend = "beta_mixed_slope(a, b) * digamma_fall(a, b) + beta(a, b) * (2 * digamma_fall(a, b) * polygamma_fall(1, a, b) * digamma_fall(b, a) - square(digamma_fall(a, b)) * polygamma(1, a + b) - 3 * polygamma_fall(1, a, b) * polygamma(1, a + b) - 2 * digamma_fall(a, b) * polygamma(2, a + b) + polygamma_fall(2, a, b) * digamma_fall(b, a) - polygamma(3, a + b))"

var specialRows = []Op{
	{Name: "erf", Args: "x", Doc: "error function", Grad: d("1.1283791670955126 * gauss(x)"), Kernel: unary(&kernels.Erf, kernels.ErfOf), Try: at(-2, 0, 0.5)},
	{Name: "erfc", Args: "x", Doc: "1 - erf(x), accurate far out", Grad: d("-1.1283791670955126 * gauss(x)"), Kernel: unary(&kernels.Erfc, kernels.ErfcOf), Try: at(-2, 0, 5)},
	{Name: "erfinv", Args: "x", Doc: "inverse error function", Grad: d("erfinv_slope(x)"), Says: d("0.886226925452758 / gauss(out)"), Kernel: unary(&kernels.Erfinv, kernels.ErfinvOf), Try: at(-0.9, 0, 0.5),
		Kinks: []Kink{{"abs(x) > 1", "the inverse error function of a number beyond 1 is not real", false}, {"abs(x) == 1", "a vertical tangent", false}}},
	{Name: "gauss", Args: "x", Doc: "exp(-x^2), accurate far out", Grad: d("-2 * zmul(x, out)"), Says: d("-2 * (x * out)"), Kernel: unary(&kernels.Gauss, kernels.GaussOf), Try: at(-2, 0, 5)},
	{Name: "erfinv_slope", Args: "x", Hidden: true, Doc: "the derivative of erfinv", Grad: d("2 * (out * erfinv(x)) * out"), Kernel: unary(&kernels.ErfinvSlope, kernels.ErfinvSlopeOf), Try: at(-0.9, 0, 0.5)},
	{Name: "normcdf", Alias: []string{"ndtr", "norm_cdf"}, Args: "x", Doc: "normal distribution function", Grad: d("normpdf(x)"), Kernel: unary(&kernels.NormCdf, kernels.NormCdfOf), Try: at(-3, 0, 2)},
	{Name: "normpdf", Alias: []string{"norm_pdf"}, Args: "x", Doc: "normal density exp(-x^2/2)/sqrt(2 pi)", Grad: d("-zmul(x, out)"), Says: d("-x * out"), Kernel: unary(&kernels.NormPdf, kernels.NormPdfOf), Try: at(-3, 0, 2)},
	{Name: "gamma", Args: "x", Doc: "gamma function", Grad: d("out * digamma(x)"), Kernel: unary(&kernels.Gamma, kernels.GammaOf), Try: at(-1.5, 0.5, 4),
		Kinks: []Kink{{"x <= 0 && x == floor(x)", "a pole", false}}},
	{Name: "lgamma", Alias: []string{"gammaln"}, Args: "x", Doc: "log |gamma(x)|", Grad: d("digamma(x)"), Kernel: unary(&kernels.Lgamma, kernels.LgammaOf), Try: at(-1.5, 0.5, 4),
		Kinks: []Kink{{"x <= 0 && x == floor(x)", "a pole", false}}},
	{Name: "digamma", Alias: []string{"psi"}, Args: "x", Doc: "derivative of lgamma", Grad: d("polygamma(1, x)"), Kernel: unary(&kernels.Digamma, kernels.DigammaOf), Try: at(-1.5, 0.5, 4),
		Kinks: []Kink{{"x <= 0 && x == floor(x)", "a pole", false}}},
	{Name: "polygamma", Args: "#n, x", Doc: "n-th derivative of digamma", Grad: d("", "polygamma(n + 1, x)"), Kernel: binary(nil, polygammaOf), Try: at2(1, 0.5, 2, 4),
		Kinks: []Kink{{"x <= 0 && x == floor(x)", "a pole", false}}},
	{Name: "beta", Args: "a, b", Doc: "gamma(a) gamma(b) / gamma(a + b)", Grad: d("beta_slope(a, b)", "beta_slope(b, a)"), Says: d("out * (digamma(a) - digamma(a + b))", "out * (digamma(b) - digamma(a + b))"), Kernel: binary(nil, betaOf), Try: at2(0.5, 2, -0.5, 2.5, 30, 40),
		Kinks: []Kink{{"a <= 0 && a == floor(a) || b <= 0 && b == floor(b)", "a pole", false}}},
	{Name: "beta_slope", Args: "a, b", Hidden: true, Doc: "derivative of beta by a", Grad: d("beta_curve(a, b)", "beta_mixed(a, b)"), Kernel: binary(nil, betaSlopeOf), Try: at2(0.5, 2, -0.5, 2.5, 30, 40)},
	{Name: "beta_curve", Args: "a, b", Hidden: true, Doc: "second derivative of beta by a",
		Grad:   d("beta_bend(a, b)", "beta_mixed_slope(a, b)"),
		Kernel: binary(nil, betaCurveOf), Try: at2(0.5, 2, -0.5, 2.5, 30, 40)},
	{Name: "beta_bend", Args: "a, b", Hidden: true, Doc: "third derivative of beta by a",
		Grad:   d("out * digamma_fall(a, b) + 3 * beta_curve(a, b) * polygamma_fall(1, a, b) + 3 * beta_slope(a, b) * polygamma_fall(2, a, b) + beta(a, b) * polygamma_fall(3, a, b)", betaMixedBend),
		Kernel: binary(nil, betaBendOf), Try: at2(0.5, 2, -0.5, 2.5, 30, 40)},
	{Name: "beta_mixed", Args: "a, b", Hidden: true, Doc: "derivative of beta by a and b",
		Grad:   d("beta_mixed_slope(a, b)", "beta_mixed_slope(b, a)"),
		Kernel: binary(nil, betaMixedOf), Try: at2(0.5, 2, -0.5, 2.5, 30, 40)},
	{Name: "beta_mixed_slope", Args: "a, b", Hidden: true, Doc: "derivative of beta by a twice and b",
		Grad: d(betaMixedBend,
			"out * digamma_fall(b, a) + beta(a, b) * (square(digamma_fall(a, b)) * polygamma_fall(1, b, a) - 2 * digamma_fall(a, b) * digamma_fall(b, a) * polygamma(1, a + b) + 2 * square(polygamma(1, a + b)) - 2 * digamma_fall(a, b) * polygamma(2, a + b) - digamma_fall(b, a) * polygamma(2, a + b) + polygamma_fall(1, a, b) * polygamma_fall(1, b, a) - polygamma(3, a + b))"),
		Kernel: binary(nil, betaMixedSlopeOf), Try: at2(0.5, 2, -0.5, 2.5, 30, 40)},
	{Name: "betaln", Alias: []string{"lbeta"}, Args: "a, b", Doc: "log of |beta(a, b)|", Grad: d("digamma_fall(a, b)", "digamma_fall(b, a)"), Kernel: binary(&betalnDoor, betalnOf), Try: at2(0.5, 2, -0.5, 2.5, 30, 40),
		Kinks: []Kink{{"a <= 0 && a == floor(a) || b <= 0 && b == floor(b)", "a pole", false}}},
	{Name: "digamma_fall", Args: "a, b", Hidden: true, Doc: "digamma(a) - digamma(a + b)", Grad: d("polygamma_fall(1, a, b)", "-polygamma(1, a + b)"), Kernel: binary(&digammaFallDoor, digammaFallOf), Try: at2(0.5, 2, 30, 40)},
	{Name: "polygamma_fall", Args: "#n, a, b", Hidden: true, Doc: "polygamma(n, a) - polygamma(n, a + b)", Grad: d("", "polygamma_fall(n + 1, a, b)", "-polygamma(n + 1, a + b)"), Kernel: ternary(nil, polygammaFallOf), Try: at3(1, 0.5, 2, 2, 30, 40)},
	{Name: "sinc", Args: "x", Doc: "sin(pi x) / (pi x), 1 at 0", Grad: d("sinc_derivative(1, x)"), Kernel: unary(&kernels.Sinc, kernels.SincOf), Try: at(-1.3, 0, 0.5), Note: "smooth at 0, to every order"},
	{Name: "sinc_derivative", Args: "#n, x", Hidden: true, Doc: "n-th derivative of sinc", Grad: d("", "sinc_derivative(n + 1, x)"), Kernel: binary(&sincDerivativeDoor, sincDerivativeOf), Try: at2(1, 0.5, 2, 9)},
	{Name: "xlogy", Args: "x, y", Doc: "x * log(y), 0 where x is 0", Grad: d("where(x == 0 && y == 0, 0, log(y))", "where(x == 0 && y == 0, 0, where(y < 0, zmul(x, nan * y), x / (y + 0)))"), Says: d("log(y)", "x / y"), Kernel: binary(&xlogyDoor, xlogyOf), Try: at2(1, 2, 0, 3),
		Kinks: []Kink{{"y < 0 && x != 0", "the logarithm of a negative number is not real", false}, {"y == 0 && x != 0", "a vertical tangent", false}},
		Note:  "at (0, 0): 0, 0, also where x and y are one, as in entropies; at (0, y): log y, 0"},
	{Name: "xlog1py", Args: "x, y", Doc: "x * log1p(y), 0 where x is 0", Grad: d("where(x == 0 && y == -1, 0, log1p(y))", "where(x == 0 && y == -1, 0, where(y < -1, zmul(x, nan * y), x / (1 + y)))"), Says: d("log1p(y)", "x / (1 + y)"), Kernel: binary(&xlog1pyDoor, xlog1pyOf), Try: at2(1, 2, 0, 3),
		Kinks: []Kink{{"y < -1 && x != 0", "the logarithm of a negative number is not real", false}, {"y == -1 && x != 0", "a vertical tangent", false}}},
	{Name: "entr", Args: "x", Doc: "-x log(x), 0 at 0", Grad: d("-1 - log(x)"), Kernel: unary(&entrDoor, entrOf), Try: at(0.1, 1, 7),
		Kinks: []Kink{{"x < 0", "the logarithm of a negative number is not real", false}, {"x == 0", "a vertical tangent", false}}, Note: "at 0: inf; below 0: NaN"},
	{Name: "kl_div", Args: "x, y", Doc: "x log(x / y) - x + y", Grad: d("where(x == 0 && y == 0, -1, log_ratio(x, y))", "where(x == 0 && y == 0, 1, where(isnan(out), out, excess(y + 0, x)))"), Says: d("log(x / y)", "1 - x / y"), Kernel: binary(&klDivDoor, klDivOf), Try: at2(1, 2, 3, 0.5, 2, 2.001),
		Kinks: []Kink{{"x == 0 && y != 0", "a vertical tangent", false}, {"y == 0 && x != 0", "a pole", false}, {"x == 0 && y == 0", "0 over 0", false}}, Joint: true},
	{Name: "excess", Args: "x, y", Hidden: true, Doc: "(x - y) / x", Grad: d("y / x / x", "-1 / x"), Kernel: binary(&excessDoor, excessOf), Try: at2(1, 2, 3, 0.5)},
	{Name: "log_ratio", Args: "x, y", Hidden: true, Doc: "log(x / y), accurate near 1", Grad: d("log_slope(x)", "-log_slope(y)"), Kernel: binary(&ratioDoor, logRatioOf), Try: at2(1, 2, 3, 0.5)},
	{Name: "xdivy", Args: "x, y", Doc: "x / y, 0 where x is 0", Grad: d("where(x == 0 && y == 0, 0, 1 / y)", "where(x == 0 && y == 0, 0, -quotient(out, y))"), Says: d("1 / y", "-out / y"), Kernel: binary(nil, xdivyOf), Try: at2(1, 2, 0, 3),
		Kinks: []Kink{{"y == 0 && x != 0", "the divisor is 0", false}, {"x == 0 && y == 0", "0 over 0", false}}, Joint: true, Note: "at (0, 0): 0, 0; x^2 over x is x"},
	{Name: "log_ndtr", Alias: []string{"log_normcdf"}, Args: "x", Doc: "log(normcdf(x)), accurate far out", Grad: d("hazard(x)"), Kernel: unary(&kernels.LogNormCdf, kernels.LogNormCdfOf), Try: at(-30, -2, 0, 3)},
	{Name: "hazard", Args: "x", Hidden: true, Doc: "normpdf(x) / normcdf(x)", Grad: d("hazard_slope(x)"), Kernel: unary(&kernels.Hazard, kernels.HazardOf), Try: at(-30, -2, 0, 3)},
	{Name: "hazard_slope", Args: "x", Hidden: true, Doc: "-hazard(x) hazard_gap(x)", Grad: d("hazard_curve(x)"), Kernel: unary(nil, hazardSlopeOf), Try: at(-30, -2, 0, 3)},
	{Name: "hazard_gap", Args: "x", Hidden: true, Doc: "x + hazard(x)", Grad: d("hazard_gap_slope(x)"), Kernel: unary(nil, kernels.HazardGapOf), Try: at(-30, -2, 0, 3)},
	{Name: "hazard_gap_slope", Args: "x", Hidden: true, Doc: "1 - hazard(x) hazard_gap(x)", Grad: d("hazard_curve(x)"), Kernel: unary(nil, kernels.HazardGapSlopeOf), Try: at(-30, -2, 0, 3)},
	{Name: "hazard_curve", Args: "x", Hidden: true, Doc: "hazard(x) (hazard_gap(x)^2 - hazard_gap_slope(x)), the second derivative of hazard",
		Grad: d("hazard_bend(x)"), Kernel: unary(nil, kernels.HazardCurveOf), Try: at(-30, -2, 0, 3)},
	{Name: "hazard_bend", Args: "x", Hidden: true, Doc: "hazard(x) (3 hazard_gap(x) hazard_gap_slope(x) - hazard_gap(x)^3 - hazard_curve(x)), the third derivative of hazard",
		Grad:   d("hazard_slope(x) * (3 * hazard_gap(x) * hazard_gap_slope(x) - hazard_gap(x)^3 - hazard_curve(x)) + hazard(x) * (3 * square(hazard_gap_slope(x)) + 3 * hazard_gap(x) * hazard_curve(x) - 3 * square(hazard_gap(x)) * hazard_gap_slope(x) - out)"),
		Kernel: unary(nil, kernels.HazardBendOf), Try: at(-30, -2, 0, 3)},
	{Name: "ndtri", Alias: []string{"norm_ppf"}, Args: "x", Doc: "inverse of normcdf", Grad: d("ndtri_slope(x)"), Kernel: unary(&kernels.NormQuantile, kernels.NormQuantileOf), Try: at(0.1, 0.3, 0.9),
		Kinks: []Kink{{"x < 0 || x > 1", "a probability is between 0 and 1", false}, {"x == 0 || x == 1", "a vertical tangent", false}}},
	{Name: "ndtri_slope", Args: "x", Hidden: true, Doc: "1 / normpdf(ndtri(x))", Grad: d("out * (out * ndtri(x))"), Kernel: unary(&kernels.NormQuantileSlope, kernels.NormQuantileSlopeOf), Try: at(0.1, 0.3, 0.9)},
	{Name: "erfcinv", Args: "x", Doc: "inverse of erfc", Grad: d("-0.35355339059327373 * ndtri_slope(x / 2)"), Kernel: unary(&kernels.Erfcinv, kernels.ErfcinvOf), Try: at(0.1, 0.7, 1.5),
		Kinks: []Kink{{"x < 0 || x > 2", "the complementary error function is between 0 and 2", false}, {"x == 0 || x == 2", "a vertical tangent", false}}},
	{Name: "erfcx", Args: "x", Doc: "exp(x^2) erfc(x), without underflow", Grad: d("erfcx_derivative(1, x)"), Kernel: unary(&kernels.Erfcx, kernels.ErfcxOf), Try: at(-1, 0.5, 3)},
	{Name: "erfcx_derivative", Args: "#n, x", Hidden: true, Doc: "n-th derivative of erfcx", Grad: d("", "erfcx_derivative(n + 1, x)"), Kernel: binary(nil, kernels.ErfcxDerivativeOf), Try: at2(1, -1, 1, 0.5, 2, 3)},
	{Name: "i0", Alias: []string{"bessel_i0"}, Args: "x", Doc: "modified Bessel function of the first kind of order 0", Grad: d("i1(x)"), Kernel: unary(nil, kernels.I0Of), Try: at(-1.5, 0, 0.5, 30)},
	{Name: "i1", Alias: []string{"bessel_i1"}, Args: "x", Doc: "modified Bessel function of the first kind of order 1", Grad: d("i0_derivative(2, x)"), Says: d("i0(x) - i1(x) / x"), Kernel: unary(nil, kernels.I1Of), Try: at(-1.5, 0, 0.5, 30)},
	{Name: "i0e", Alias: []string{"bessel_i0e"}, Args: "x", Doc: "exp(-|x|) i0(x)", Grad: d("i0e_derivative(1, x)"), Says: d("i1e(x) - sign(x) * out"), Kernel: unary(nil, kernels.I0eOf), Try: at(-1.5, 0.5, 30),
		Kinks: []Kink{{"x == 0", "a kink: the least subgradient, 0", true}}, Note: "at 0: 0"},
	{Name: "i1e", Alias: []string{"bessel_i1e"}, Args: "x", Doc: "exp(-|x|) i1(x)", Grad: d("i1e_derivative(1, x)"), Says: d("i0e(x) - out * (sign(x) + 1 / x)"), Kernel: unary(nil, kernels.I1eOf), Try: at(-1.5, 0.5, 30)},
	{Name: "i0_derivative", Args: "#n, x", Hidden: true, Doc: "n-th derivative of i0", Grad: d("", "i0_derivative(n + 1, x)"), Kernel: binary(nil, kernels.I0DerivativeOf), Try: at2(1, -1, 2, 0.5, 2, 30)},
	{Name: "i0e_derivative", Args: "#n, x", Hidden: true, Doc: "n-th derivative of i0e", Grad: d("", "i0e_derivative(n + 1, x)"), Kernel: binary(nil, kernels.I0eDerivativeOf), Try: at2(1, -1, 2, 0.5, 2, 30)},
	{Name: "i1e_derivative", Args: "#n, x", Hidden: true, Doc: "n-th derivative of i1e", Grad: d("", "i1e_derivative(n + 1, x)"), Kernel: binary(nil, kernels.I1eDerivativeOf), Try: at2(1, -1, 2, 0.5, 2, 30)},
	{Name: "gammainc", Alias: []string{"igamma"}, Args: "a, x", Doc: "regularised lower incomplete gamma function", Grad: d("gammainc_derivative(1, a, x)", "where(isnan(out), out, gamma_density(0, a, x))"), Says: d("the integral of (log(t) - digamma(a)) * t^(a - 1) * exp(-t) / gamma(a) from 0 to x", "x^(a - 1) * exp(-x) / gamma(a)"), Kernel: binary(&kernels.Gammainc, kernels.GammaincOf), Try: at2(0.5, 2, 3, 0.5, 30, 32),
		Kinks: []Kink{{"a < 0 || x < 0", "the incomplete gamma function is of numbers that are not negative", false}, {"a == 0 && x == 0", "0 at other a and 1 at other x meet", false}, {"x == 0 && a > 0 && a < 1", "a vertical tangent", false}}, LastBy: 2},
	{Name: "gammaincc", Alias: []string{"igammac"}, Args: "a, x", Doc: "regularised upper incomplete gamma function, 1 - gammainc(a, x), accurate far out", Grad: d("-gammainc_derivative(1, a, x)", "where(isnan(out), out, -gamma_density(0, a, x))"), Says: d("the integral of (log(t) - digamma(a)) * t^(a - 1) * exp(-t) / gamma(a) from x on", "-x^(a - 1) * exp(-x) / gamma(a)"), Kernel: binary(&kernels.Gammaincc, kernels.GammainccOf), Try: at2(0.5, 2, 3, 0.5, 30, 32),
		Kinks: []Kink{{"a < 0 || x < 0", "the incomplete gamma function is of numbers that are not negative", false}, {"a == 0 && x == 0", "0 at other a and 1 at other x meet", false}, {"x == 0 && a > 0 && a < 1", "a vertical tangent", false}}, LastBy: 2},
	{Name: "gammainc_derivative", Args: "#n, a, x", Hidden: true, Doc: "n-th derivative of gammainc by a", Grad: d("", "gammainc_derivative(n + 1, a, x)", "gamma_density(n, a, x)"), Kernel: ternary(nil, kernels.GammaincDerivativeOf), Try: at3(1, 0.5, 2, 2, 3, 0.5, 1, 30, 32)},
	{Name: "gamma_density", Args: "#n, a, x", Hidden: true, Doc: "n-th derivative of x^(a - 1) exp(-x) / gamma(a) by a", Grad: d("", "gamma_density(n + 1, a, x)", "where(x == 0 || a > 1 && abs(out) < 1e-290, gamma_density(n, a - 1, x) - out, (out * (a - 1 - x) + n * gamma_density(n - 1, a, x)) / x)"), Kernel: ternary(&kernels.GammaDensity, kernels.GammaDensityOf), Try: at3(0, 0.5, 2, 2, 3, 0.5, 1, 30, 32)},
	{Name: "betainc", Args: "a, b, x", Doc: "regularised incomplete beta function", Grad: d("betainc_by_a(a, b, x)", "betainc_by_b(a, b, x)", "where(isnan(out), out, beta_density(a, b, x))"), Says: d("the integral of (log(t) - digamma(a) + digamma(a + b)) * t^(a - 1) * (1 - t)^(b - 1) / beta(a, b) from 0 to x", "the integral of (log(1 - t) - digamma(b) + digamma(a + b)) * t^(a - 1) * (1 - t)^(b - 1) / beta(a, b) from 0 to x", "x^(a - 1) * (1 - x)^(b - 1) / beta(a, b)"), Kernel: ternary(nil, kernels.BetaincOf), Try: at3(2, 3, 0.3, 0.5, 4, 0.75, 30, 20, 0.5),
		Kinks: []Kink{{"a < 0 || b < 0 || x < 0 || x > 1", "the incomplete beta function is of a and b that are not negative, and x from 0 to 1", false}, {"a == 0 && b == 0", "0 at b = 0 and 1 at a = 0 meet", false}, {"x == 0 && a < 1 || x == 1 && b < 1", "a vertical tangent", false}}, LastBy: 3, Note: "derivatives by a and b go up to the second"},
	{Name: "betainc_by_a", Args: "a, b, x", Hidden: true, Doc: "derivative of betainc by a", Grad: d("betainc_by_aa(a, b, x)", "betainc_by_ab(a, b, x)", "zmul(beta_density(a, b, x), log_over_beta(a, b, x))"), Kernel: ternary(nil, kernels.BetaincByAOf), Try: at3(2, 3, 0.3, 0.5, 4, 0.75, 30, 20, 0.5)},
	{Name: "betainc_by_b", Args: "a, b, x", Hidden: true, Doc: "derivative of betainc by b", Grad: d("betainc_by_ab(a, b, x)", "betainc_by_bb(a, b, x)", "zmul(beta_density(a, b, x), log1m_over_beta(a, b, x))"), Kernel: ternary(nil, kernels.BetaincByBOf), Try: at3(2, 3, 0.3, 0.5, 4, 0.75, 30, 20, 0.5)},
	{Name: "betainc_by_aa", Args: "a, b, x", Hidden: true, Doc: "second derivative of betainc by a", NoRule: true, Kernel: ternary(nil, kernels.BetaincByAAOf), Note: "derivatives by a and b go up to the second"},
	{Name: "betainc_by_ab", Args: "a, b, x", Hidden: true, Doc: "derivative of betainc by a and b", NoRule: true, Kernel: ternary(nil, kernels.BetaincByABOf), Note: "derivatives by a and b go up to the second"},
	{Name: "betainc_by_bb", Args: "a, b, x", Hidden: true, Doc: "second derivative of betainc by b", NoRule: true, Kernel: ternary(nil, kernels.BetaincByBBOf), Note: "derivatives by a and b go up to the second"},
	{Name: "beta_density", Args: "a, b, x", Hidden: true, Doc: "x^(a - 1) (1 - x)^(b - 1) / beta(a, b)", Grad: d("zmul(out, log_over_beta(a, b, x))", "zmul(out, log1m_over_beta(a, b, x))", "where(x == 0 || x == 1, (a + b - 1) * (beta_density(a - 1, b, x) - beta_density(a, b - 1, x)), where(out < 1e-290, where(a > 1, (a + b - 1) * beta_density(a - 1, b, x), out * (a - 1) / x) - where(b > 1, (a + b - 1) * beta_density(a, b - 1, x), out * (b - 1) / (1 - x)), out * ((a - 1) / x - (b - 1) / (1 - x))))"), Kernel: ternary(nil, kernels.BetaDensityOf), Try: at3(2, 3, 0.3, 0.5, 4, 0.75, 30, 20, 0.5)},
	{Name: "log_over_beta", Args: "a, b, x", Hidden: true, Doc: "log(x) - digamma(a) + digamma(a + b)", Grad: d("-polygamma_fall(1, a, b)", "polygamma(1, a + b)", "1 / x"), Kernel: ternary(nil, kernels.LogOverBetaOf), Try: at3(2, 3, 0.3, 0.5, 4, 0.75, 30, 20, 0.5)},
	{Name: "log1m_over_beta", Args: "a, b, x", Hidden: true, Doc: "log(1 - x) - digamma(b) + digamma(a + b)", Grad: d("polygamma(1, a + b)", "-polygamma_fall(1, b, a)", "-1 / (1 - x)"), Kernel: ternary(nil, kernels.Log1mOverBetaOf), Try: at3(2, 3, 0.3, 0.5, 4, 0.75, 30, 20, 0.5)},
	{Name: "multigammaln", Args: "a, #d", Doc: "log of the multivariate gamma function of dimension d", Body: "sum(lgamma(expand_dims(a, -1) - arange(d) / 2), axis=-1) + d * (d - 1) / 4 * log(pi)"},
	{Name: "rel_entr", Args: "x, y", Doc: "x log(x / y), 0 at x = 0", Grad: d("where(x == 0 && y == 0, 0, 1 + log_ratio(x, y))", "where(x == 0 && y == 0, 0, where(isnan(out), out, -x / (y + 0)))"), Says: d("1 + log(x / y)", "-x / y"), Kernel: binary(&relEntrDoor, relEntrOf), Try: at2(1, 2, 3, 0.5, 2, 2.001),
		Kinks: []Kink{{"x == 0 && y != 0", "a vertical tangent", false}, {"y == 0 && x != 0", "a pole", false}, {"x == 0 && y == 0", "0 over 0", false}}, Joint: true},
}

// hazardSlopeOf is, far out, -1 and 0.
func hazardSlopeOf(x float64) float64 {
	h := kernels.HazardOf(x)
	switch {
	case x < -0x1p53:
		return -1
	case h == 0:
		return 0
	}
	return -h * kernels.HazardGapOf(x)
}

// logRatioOf is log(x/y); x/y rounds, and may leave the range.
func logRatioOf(x, y float64) float64 {
	return logRatio(x, y, kernels.Log1pOf((x-y)/y), kernels.LogOf(x/y))
}

// logRatio is log(x/y) by near = log1p((x - y)/y) or far, the logarithm of what x/y is rounded to.
func logRatio(x, y, near, far float64) float64 {
	if x < 0 || y < 0 {
		return math.NaN()
	}
	d, q := math.Abs((x-y)/y), x/y
	if !(q > 0x1p-1022 && q <= math.MaxFloat64) && !(d < 0.5) {
		return kernels.LogOf(x) - kernels.LogOf(y)
	}
	log := math.Float64bits(far)
	if d < 0.5 { // of whole numbers, as a conditional move: no branch, which is missed where it is as often this way as that
		log = math.Float64bits(near)
	}
	return math.Float64frombits(log)
}

func relEntrOf(x, y float64) float64 { return timesRatio(x, y, logRatioOf(x, y)) }

func timesRatio(x, y, logRatio float64) float64 {
	if x == 0 && y >= 0 {
		return 0
	}
	return x * logRatio
}

func excessOf(x, y float64) float64 { return (x - y) / x }

func klDivOf(x, y float64) float64 { return klDiv(x, y, relEntrOf(x, y)) }

// klDiv is, for x between y/2 and 2 y, by the power series of log(x/y) = 2 atanh(z) in
// z = (x - y)/(x + y), what x log(x/y) and y - x leave: (x - y) z (1 + (1 + z) z Σ z^2k/(2k+3)).
func klDiv(x, y, relEntr float64) float64 {
	z := (x - y) / (x + y)
	if !(math.Abs(z) < 1./3) || !(y > 0) || x+y > math.MaxFloat64 {
		return relEntr - x + y
	}
	sum, z2 := 0.0, float64(z*z)
	for _, c := range &klDivTerms {
		sum = c + float64(z2*sum)
	}
	return (x - y) * z * (1 + float64((1+z)*z*sum))
}

// klDivTerms are 1/(2k + 3) for k = 15, …, 0: 3^-33/35 is below 2^-56.
var klDivTerms = [...]float64{1. / 33, 1. / 31, 1. / 29, 1. / 27, 1. / 25, 1. / 23, 1. / 21, 1. / 19, 1. / 17, 1. / 15, 1. / 13, 1. / 11, 1. / 9, 1. / 7, 1. / 5, 1. / 3}

func xdivyOf(x, y float64) float64 {
	if x == 0 && y == y {
		return 0
	}
	return x / y
}

func xlogyOf(x, y float64) float64 { return timesLog(x, y, kernels.LogOf(y)) }

// timesLog is x times a logarithm of y, 0 where x is 0.
func timesLog(x, y, log float64) float64 {
	if x == 0 && y == y {
		return 0
	}
	return x * log
}

func entrOf(x float64) float64 { return -xlogyOf(x, x) }

func xlog1pyOf(x, y float64) float64 { return timesLog(x, y, kernels.Log1pOf(y)) }

// stirling is the sum of a[0]/x + a[1]/x^3 + …, what Stirling's formula leaves of
// lgamma(x) for x >= betaFar.
func stirling(x float64) float64 {
	z, sum := 1/float64(x*x), 0.0
	for i := len(stirlingTerms) - 1; i >= 0; i-- {
		sum = stirlingTerms[i] + float64(sum*z)
	}
	return sum / x
}

var stirlingTerms = [...]float64{1. / 12, -1. / 360, 1. / 1260, -1. / 1680, 1. / 1188, -691. / 360360, 1. / 156}

// betaFar is from where the sums of Stirling's formulas are exact to rounding.
const betaFar = 12

// betalnElsewhere is the logarithm of beta where that is near 1, which loses less than larger
// logarithms that cancel.
func betalnElsewhere(a, b float64) float64 {
	y := lgammaFall(a, b)
	if math.Abs(y) < 3 && min(a, b) > 0 && a+b < 1e300 {
		return kernels.LogOf(betaOf(a, b))
	}
	return y
}

// lgammaFall is lgamma(a) + lgamma(b) - lgamma(a+b): differences at large arguments are taken
// from Stirling's formula, term by term (DiDonato and Morris, ACM TOMS 708).
func lgammaFall(a, b float64) float64 {
	if a > b {
		a, b = b, a
	}
	switch {
	case math.IsInf(b, 1) && a > 0:
		return math.Inf(-1)
	case a == 0 && b == 0:
		return math.Inf(1)
	case !(a+b >= betaFar) || b < betaFar || math.IsInf(b, 0):
		return kernels.LgammaOf(a) + kernels.LgammaOf(b) - kernels.LgammaOf(a+b)
	case a < betaFar:
		fall := float64((b-0.5)*kernels.Log1pOf(a/b)) + float64(a*(kernels.LogOf(a+b)-1))
		return kernels.LgammaOf(a) - fall + (stirling(b) - stirling(a+b))
	}
	fall := float64((b-0.5)*kernels.Log1pOf(a/b)) + float64(a*kernels.Log1pOf(b/a)) + float64(0.5*kernels.LogOf(a))
	const halfLog2Pi = 0.91893853320467274178
	return halfLog2Pi - fall + (stirling(a) + stirling(b) - stirling(a+b))
}

// betaOf is 1/a + 1/b where one of them is next to 0; Stirling's formula where that is exact;
// else a quotient of gammas while they are finite; else the logarithm, which loses an ulp
// for each of its units, and the sign.
func betaOf(a, b float64) float64 {
	if isPole(a+b) && !isPole(a) && !isPole(b) {
		return 0
	}
	lo, hi := a, b
	if math.Abs(lo) > math.Abs(hi) {
		lo, hi = hi, lo
	}
	if !isPole(a) && !isPole(b) && (math.Abs(lo) < 1e-100 || math.Abs(lo) < 1e-20 && hi > -0.5) {
		return (a + b) / hi / lo
	}
	if min(a, b) > 1e-100 && max(a, b) >= betaFar && a+b < 1e300 {
		return betaStirling(max(a, b), min(a, b))
	}
	if max(math.Abs(a), math.Abs(b), math.Abs(a+b)) < 100 && min(math.Abs(a), math.Abs(b)) > 1e-100 {
		lost := lo - (a + b - hi) // of their sum, which gamma would multiply
		return kernels.GammaOf(a) / kernels.GammaOf(a+b) * kernels.GammaOf(b) * (1 - float64(kernels.DigammaOf(a+b)*lost))
	}
	return gammaSign(a) * gammaSign(b) * gammaSign(a+b) * kernels.ExpOf(lgammaFall(a, b))
}

// betaStirling is beta of a >= b > 0, a large. The powers of a/s and b/s, for s = a + b, are
// of quotients in twice the precision: a rounding of theirs would be multiplied by a or b.
func betaStirling(a, b float64) float64 {
	s := a + b
	lost := b - (s - a)
	over := func(x float64) (h, rest float64) { // x/s is h, and x log(x/s) is x log(h) + rest
		h = x / s
		return h, x * ((math.FMA(-h, s, x) - float64(h*lost)) / s / h)
	}
	p, r := over(a)
	if b < betaFar {
		r += stirling(a) - stirling(s) - float64(b*(lost/s))
		return kernels.GammaOf(b) * kernels.PowOf(p, a) * kernels.PowOf(s, -b) * math.Sqrt(s/a) * kernels.ExpOf(b) * kernels.ExpOf(r)
	}
	q, t := over(b)
	const sqrt2Pi = 2.5066282746310005024
	return sqrt2Pi * math.Sqrt(s/a/b) * (kernels.PowOf(p, a) * kernels.PowOf(q, b)) * kernels.ExpOf(r+t+(stirling(a)+stirling(b)-stirling(s)))
}

// betaSlopeOf is beta(a, b) (ψ(a) - ψ(a+b)), unless next to a zero of beta.
func betaSlopeOf(a, b float64) float64 {
	if z := betaZeroOf(a, b); z.near {
		return z.slope()
	}
	return betaOf(a, b) * digammaFallOf(a, b)
}

// betaCurveOf is beta(a, b) ((ψ(a) - ψ(a+b))² + ψ'(a) - ψ'(a+b)), unless next to a zero of beta.
func betaCurveOf(a, b float64) float64 {
	if z := betaZeroOf(a, b); z.near {
		return z.curve()
	}
	fall := digammaFallOf(a, b)
	return betaOf(a, b) * (float64(fall*fall) + polygammaFallOf(1, a, b))
}

// betaBendOf is the derivative of betaCurveOf by a.
func betaBendOf(a, b float64) float64 {
	if z := betaZeroOf(a, b); z.near {
		return z.bend()
	}
	rise := polygammaFallOf(1, a, b)
	return float64(betaCurveOf(a, b)*digammaFallOf(a, b)) + float64(2*betaSlopeOf(a, b)*rise) + float64(betaOf(a, b)*polygammaFallOf(2, a, b))
}

// betaMixedOf is beta(a, b) ((ψ(a) - ψ(a+b)) (ψ(b) - ψ(a+b)) - ψ'(a+b)) or, where the poles at 0
// cancel, what they leave.
func betaMixedOf(a, b float64) float64 {
	if z := betaZeroOf(a, b); z.near {
		return z.mixed()
	}
	if !betaPolesCancel(a, b) {
		return betaSlopeOf(b, a)*digammaFallOf(a, b) - float64(betaOf(a, b)*polygammaOf(1, a+b))
	}
	r := betaRestOf(a, b)
	return r.g * r.mixed
}

// betaMixedSlopeOf is the derivative of betaMixedOf by a.
func betaMixedSlopeOf(a, b float64) float64 {
	if z := betaZeroOf(a, b); z.near {
		return z.mixedSlope()
	}
	if !betaPolesCancel(a, b) {
		fall, second := digammaFallOf(a, b), polygammaOf(2, a+b)
		return float64(betaMixedOf(a, b)*fall) + float64(betaOf(a, b)*(float64(polygammaFallOf(1, a, b)*digammaFallOf(b, a))-float64(fall*polygammaOf(1, a+b))-second))
	}
	r := betaRestOf(a, b)
	means := float64(-polygammaFallOf(1, 1+a, b)/b*r.mb) - float64(r.ma*r.b.rise)
	return r.g * (r.a.byX + r.b.byH + float64(r.ma*r.mb) + float64((a+b)*means) - float64(float64(b*r.ma)*r.mixed))
}

// betaPolesCancel reports whether derivatives of beta by both arguments are sums of poles at 0 that cancel.
func betaPolesCancel(a, b float64) bool {
	lo := min(math.Abs(a), math.Abs(b))
	return lo > 0 && lo < 1 && max(a, b) < 1e100 && min(a, b) > -mostRaised && !isPole(a) && !isPole(b)
}

// A betaRest is what the poles at 0 leave of derivatives of beta: with g = beta(a, b) a b/(a+b), the means
// ma and mb of ψ' from 1+a and from 1+b to 1+a+b, and how far these rise by the way, the derivative
// by both is g (rise + rise + (a+b) ma mb).
type betaRest struct {
	g, ma, mb float64
	a, b      trigammaRise // from 1+a, from 1+b
	mixed     float64      // over g
}

func betaRestOf(a, b float64) (r betaRest) {
	s, lo, hi := a+b, a, b
	if math.Abs(lo) > math.Abs(hi) {
		lo, hi = hi, lo
	}
	r.g = betaOf(a, b) * lo * (hi / s)
	r.ma, r.mb = -digammaFallOf(1+a, b)/b, -digammaFallOf(1+b, a)/a
	r.a, r.b = trigammaRiseOf(1+a, b), trigammaRiseOf(1+b, a)
	r.mixed = r.a.rise + r.b.rise + float64(float64(s*r.ma)*r.mb)
	return r
}

// A betaZero is how beta(a, b) = Γ(a) Γ(b) Γ(1-a-b) sin(π (a+b))/π goes through its zero at a+b = -n.
type betaZero struct {
	near       bool    // so near that the poles of ψ(a+b) cancel
	scale      float64 // Γ(a) Γ(b) Γ(1-a-b)
	da, db     float64 // its logarithm's derivatives by a and b
	a, b, both float64 // theirs: of da by a, of db by b, of both by the other
	x, rest    float64 // the arguments of the first gamma and of the last
	sin, cos   float64 // of π (a+b), the sine over π
}

// betaZeroOf is the zero that a+b is next to, near unless a or b is as close to a pole.
func betaZeroOf(a, b float64) (z betaZero) {
	s := a + b
	n := math.Round(s)
	if z.near = n <= 0 && !isPole(a) && !isPole(b) && math.Abs(s-n) < min(math.Abs(a), math.Abs(b), 1)/4; !z.near {
		return z
	}
	psi, both := kernels.DigammaOf(1-s), polygammaOf(1, 1-s)
	z.scale = gammaProduct(a, b, 1-s)
	z.da, z.db = kernels.DigammaOf(a)-psi, kernels.DigammaOf(b)-psi
	z.a, z.b, z.both = polygammaOf(1, a)+both, polygammaOf(1, b)+both, both
	z.x, z.rest = a, 1-s
	z.sin, z.cos = kernels.SinPiOf(s)/math.Pi, kernels.CosPiOf(s)
	return z
}

func (z *betaZero) slope() float64 { return z.scale * (float64(z.da*z.sin) + z.cos) }

func (z *betaZero) curve() float64 {
	return z.scale * (float64((float64(z.da*z.da)+z.a-math.Pi*math.Pi)*z.sin) + float64(2*z.da*z.cos))
}

func (z *betaZero) bend() float64 {
	const pi2 = math.Pi * math.Pi
	twice, third := float64(z.da*z.da)+z.a, polygammaOf(2, z.x)-polygammaOf(2, z.rest)
	return z.scale * (float64((float64(z.da*(twice+2*z.a))+third-float64(3*pi2*z.da))*z.sin) + float64((float64(3*twice)-pi2)*z.cos))
}

func (z *betaZero) mixed() float64 {
	return z.scale * (float64((float64(z.da*z.db)+z.both-math.Pi*math.Pi)*z.sin) + float64((z.da+z.db)*z.cos))
}

// mixedSlope is the derivative of mixed by a: of Γ(a) Γ(b) Γ(1-a-b) and the sine, each differentiated as often as
// the other is not.
func (z *betaZero) mixedSlope() float64 {
	const pi2 = math.Pi * math.Pi
	twice, mixed := float64(z.da*z.da)+z.a, float64(z.da*z.db)+z.both
	third := float64(z.da*mixed) + float64(z.a*z.db) + float64(z.da*z.both) - polygammaOf(2, z.rest)
	return z.scale * (float64((third-float64(pi2*(z.db+2*z.da)))*z.sin) + float64((twice+2*mixed-pi2)*z.cos))
}

// gammaProduct is Γ(a) Γ(b) Γ(c), of numbers whose gammas leave the range by their logarithms.
func gammaProduct(a, b, c float64) float64 {
	if max(math.Abs(a), math.Abs(b), c) < 100 && min(math.Abs(a), math.Abs(b)) > 1e-100 {
		return kernels.GammaOf(a) * kernels.GammaOf(c) * kernels.GammaOf(b)
	}
	return gammaSign(a) * gammaSign(b) * kernels.ExpOf(kernels.LgammaOf(a)+kernels.LgammaOf(c)+kernels.LgammaOf(b))
}

// A trigammaRise is (m - ψ'(x+h))/h, where m is the mean of ψ' from x to x+h, and its derivatives by h and by x.
type trigammaRise struct{ rise, byH, byX float64 }

// trigammaRiseOf is the sums of 1/((x+j) (x+j+h)^2) and of what that is made of it, the far ones by the power series of ψ'
// in h.
func trigammaRiseOf(x, h float64) (r trigammaRise) {
	if math.Abs(h) >= math.Abs(x)/2 {
		m, end := -digammaFallOf(x, h)/h, polygammaOf(1, x+h)
		r.rise = (m - end) / h
		r.byH = -(2*r.rise + polygammaOf(2, x+h)) / h
		r.byX = r.byH - (polygammaOf(1, x)+end-2*m)/h/h
		return r
	}
	for far := 16 * max(math.Abs(h), 2); x < far; x++ {
		u, v := 1/x, 1/(x+h)
		r.rise += 1 / (x * float64((x+h)*(x+h)))
		uv := u * v
		r.byH -= float64(2 * uv * v * v)
		r.byX -= float64(uv*uv) + float64(2*uv*v*v)
	}
	sum, power := 0.0, 0.5 // h^(k-1)/(k+1)!
	for k := 1.0; k <= 12; k++ {
		psi := polygammaOf(k+2, x)
		sum -= float64(float64(k*power) * polygammaOf(k+1, x))
		r.byX -= float64(float64(k*power) * psi)
		power /= k + 2
		r.byH -= float64(float64(k*(k+1)*power) * psi)
		power *= h
	}
	r.rise += sum
	return r
}

// isPole reports whether gamma has a pole at x.
func isPole(x float64) bool { return x <= 0 && x == math.Floor(x) }

func gammaSign(x float64) float64 {
	if x < 0 && math.Mod(math.Floor(x), 2) != 0 {
		return -1
	}
	return 1
}

// polygammaFallOf is the difference of polygamma's asymptotic series at a and a + b, term
// by term, a moved far out by the recurrence polygamma(n, x) - polygamma(n, x + 1) =
// -(-1)^n n!/x^(n+1): NIST DLMF 5.5.2, 5.15.5, 5.15.8. All differences of powers are
// sums, so that nothing cancels however small b is.
func polygammaFallOf(n, a, b float64) float64 {
	if !(min(a, a+b) > -mostRaised) || isPole(a) || isPole(a+b) || math.IsInf(a, 0) || math.IsInf(b, 0) || !(n >= 1 && n <= 20) || n != math.Floor(n) {
		return polygammaOf(n, a) - polygammaOf(n, a+b)
	}
	near := 0.0
	for ; min(a, a+b) < 32+2*n; a++ {
		near += powerFall(n+1, a, b)
	}
	// the factor of the k-th term is B(2k) (2k+n-1)!/(2k)!, here over (n-1)!
	factorial, far := 1.0, powerFall(n, a, b)
	for i := 2.0; i < n; i++ {
		factorial *= i
	}
	far += 0.5 * n * powerFall(n+1, a, b)
	ratio := 1.0 // (2k+n-1)!/(2k)!/(n-1)!
	for k, bernoulli := range [...]float64{1. / 6, -1. / 30, 1. / 42, -1. / 30, 5. / 66, -691. / 2730} {
		m := 2 * float64(k+1)
		if k == 0 {
			ratio = n * (n + 1) / 2
		} else {
			ratio *= (m + n - 2) * (m + n - 1) / (m * (m - 1))
		}
		far += float64(bernoulli * ratio * powerFall(m+n, a, b))
	}
	sum := factorial * (far + float64(n*near))
	if math.Mod(n, 2) == 0 {
		return -sum
	}
	return sum
}

// mostRaised is how far below 0 numbers are that are raised above it by ones.
const mostRaised = 1 << 10

// powerFall is a^-m - (a+b)^-m, for whole m.
func powerFall(m, a, b float64) float64 {
	u, v := 1/a, 1/(a+b)
	sum, p := 0.0, 1.0
	for i := 0.0; i < m; i++ {
		sum = float64(sum*u) + p
		p *= v
	}
	return float64(b*v) * u * sum
}

// sincDerivativeOf is the n-th derivative of sin(pi x)/(pi x). With t = pi x and
// s(t) = sin(t)/t it is pi^n s⁽ⁿ⁾(t). Near 0 the power series
// s⁽ⁿ⁾(t) = Σ_j cos((n+j)π/2) t^j / (j! (n+j+1)); farther out the forward recurrence
// t s⁽ⁿ⁾ + n s⁽ⁿ⁻¹⁾ = sin(t + nπ/2), which is stable for t > n.
func sincDerivativeOf(nf, x float64) float64 {
	if nf != math.Trunc(nf) || nf < 0 || nf > 1000 {
		return math.NaN()
	}
	n := int(nf)
	if math.IsInf(x, 0) && n > 0 {
		return 0
	}
	t := math.Pi * x
	if n == 1 {
		if math.Abs(t) <= sincNear {
			return sincSlopeNear(t)
		}
		return math.Pi * ((kernels.CosPiOf(x) - kernels.SincOf(x)) / t)
	}
	scale := math.Pow(math.Pi, nf)
	if math.Abs(t) <= math.Max(sincNear, nf) {
		sum, term := 0.0, 1.0
		for j := 0; j < 60; j++ {
			if j > 0 {
				term *= t / float64(j)
			}
			switch (n + j) % 4 {
			case 0:
				sum += term / float64(n+j+1)
			case 2:
				sum -= term / float64(n+j+1)
			}
			if a := math.Abs(term); float64(j) > math.Abs(t) && a < 0x1p-60*math.Abs(sum) {
				break // neither this term nor those behind it change the sum
			}
		}
		return scale * sum
	}
	sin, cos := kernels.SinPiOf(x), kernels.CosPiOf(x) // of pi x, not of the rounded t
	s := kernels.SincOf(x)
	for k := 1; k <= n; k++ {
		var v float64
		switch k % 4 {
		case 0:
			v = sin
		case 1:
			v = cos
		case 2:
			v = -sin
		default:
			v = -cos
		}
		s = (v - float64(float64(k)*s)) / t
	}
	return scale * s
}

const sincNear = 1.5

// sincSlopeNear is the first derivative by its power series, for |t| <= sincNear.
func sincSlopeNear(t float64) float64 {
	z, sum := float64(t*t), 0.0
	for _, c := range &sincSlopeTerms {
		sum = c + float64(z*sum)
	}
	return math.Pi * (t * sum)
}

// sincSlopeTerms are (-1)^k / ((2k-1)! (2k+1)) for k = 11, …, 1: what is behind them is below 2^-70 of 1/3.
var sincSlopeTerms = [...]float64{-1. / (51090942171709440000 * 23), 1. / (121645100408832000 * 21), -1. / (355687428096000 * 19), 1. / (1307674368000 * 17),
	-1. / (6227020800 * 15), 1. / (39916800 * 13), -1. / (362880 * 11), 1. / (5040 * 9), -1. / (120 * 7), 1. / (6 * 5), -1. / 3}

// polygammaOf leaves orders whose factorial overflows to the leading term
// (-1)^(n+1) n! x^-(n+1), and gives NaN for what is no order.
func polygammaOf(n, x float64) float64 {
	switch {
	case n != math.Trunc(n) || n < 0:
		return math.NaN()
	case n <= 170:
		return kernels.PolygammaOf(n, x)
	case !(x > 0):
		return math.NaN()
	}
	v := kernels.ExpOf(kernels.LgammaOf(n+1) - (n+1)*kernels.LogOf(x))
	if math.Mod(n, 2) == 0 {
		return -v
	}
	return v
}
