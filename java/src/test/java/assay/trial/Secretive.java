package assay.trial;

/** A binding whose constructor wants something. */
public class Secretive extends Trial {
  /** Takes what nobody gives. */
  public Secretive(String secret) {}
}
