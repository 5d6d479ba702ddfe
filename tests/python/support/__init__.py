"""What tests share: models, programs, references to compare with."""
